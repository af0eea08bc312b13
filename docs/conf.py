# SPDX-License-Identifier: GPL-2.0-or-later
project = 'fabric-models'
author = 'The fabric-models authors'
copyright = author
extensions = []
html_theme = 'alabaster'
html_static_path = []
exclude_patterns = []
highlight_language = 'none'
nitpicky = True
