"""The example of the README runs as it stands."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_runs_and_samples_cost_little(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names: dict = {}
    exec(compile(code, str(README), "exec"), names)
    assert names["images"].shape == (2, 500)
    assert names["fast"].report_.cost <= 1.01 * names["full"].report_.cost
    assert "(500, 3)" in capsys.readouterr().out
