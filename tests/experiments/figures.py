"""What every figure must show."""

from dataclasses import replace

from scoup import plot


def texts(figure):
    """All texts in a figure."""
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def assert_readable(name, metrics, material=()):
    """Every panel has data, axes are labelled, and simulated data is named as such."""
    simulated = [replace(metric, provenance="simulated") for metric in metrics]
    real = [replace(metric, provenance="real") for metric in metrics]
    figure = plot.draw(name, simulated, material)
    assert all(axes.has_data() for axes in figure.axes)
    assert any(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    dataset = metrics[0].dataset
    assert any(f"simulated data: {dataset}" in text for text in texts(figure))
    shown = texts(plot.draw(name, real, material))
    assert any(f"real data: {dataset}" in text for text in shown)
    assert not any("simulated" in text for text in shown)
