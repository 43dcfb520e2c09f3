"""What figures take from matplotlib; without it, the error says what to install."""

from scoup.extras import extra

with extra("workflow"):
    import matplotlib
    from matplotlib import rcParams
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

__all__ = [
    "AutoDateLocator",
    "Axes",
    "Axis",
    "ConciseDateFormatter",
    "Figure",
    "FuncFormatter",
    "LogLocator",
    "MaxNLocator",
    "NullLocator",
    "SubFigure",
    "matplotlib",
    "rcParams",
]
