"""SVG: what the source may ask for (sanitize), how large it is (size), and the process that draws it (draw_process).

Order of work: `text` (bytes to characters) -> `tree` (characters to elements, within bounds) -> `sanitize` (only what draws and
stays inside the document) -> `bounds` (what it would cost) -> `size` -> `draw_process`, a child that may be killed.
"""
