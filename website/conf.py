"""Sphinx's settings for the tree that `assemble.py` writes; nothing on a page comes from another host."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import rectilinear  # noqa: E402

project = "Rectilinear"
author = "The Rectilinear authors"
project_copyright = "The Rectilinear authors, Apache License 2.0"
version = release = rectilinear.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["examples/**"]
nitpicky = False  # signatures name types of NumPy and Python, whose pages are elsewhere
maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
mathjax_path = "mathjax/tex-chtml.js"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("figures.figures_of_block",),
    "reset_modules": (),
    "subsection_order": ["examples/questions", "examples/theorems", "examples/figures"],
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("__repr__",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 20,  # seconds; a gallery script takes less
    "backreferences_dir": None,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Rectilinear"
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "CHANGELOG": []}
html_theme_options = {
    "logo": {"text": "Rectilinear"},
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
