"""How anything is shown: the shell of a page that stands alone, and the style of a picture."""
