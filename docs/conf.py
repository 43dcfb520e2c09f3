"""How Sphinx builds the pages: `make docs`. Nothing is fetched from a network."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

project = "scoup"
author = "the scoup maintainers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "mathml",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "**/_build"]
root_doc = "index"
html_theme = "furo"
html_title = "scoup"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["scoup.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "default"
# GitHub draws the rule graph; here it is shown as text.
lexers["mermaid"] = TextLexer()

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "__new__"}
# Optional libraries, imported only when they are used.
autodoc_mock_imports = ["nibabel", "xarray", "sklearn"]
