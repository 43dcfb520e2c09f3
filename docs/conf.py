"""Configuration of Sphinx for `make docs`. Nothing is downloaded; formulas are plain text."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

project = "scoup"
author = "the scoup maintainers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**/_build"]
root_doc = "index"
html_theme = "furo"
html_title = "scoup"
html_static_path = ["static"]
html_css_files = ["scoup.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "default"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "__new__"}
# Optional imports that the pages do not need.
autodoc_mock_imports = ["nibabel", "xarray", "sklearn"]
