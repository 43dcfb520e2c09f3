"""The colours of figures and pages, in one place and without matplotlib."""

# Okabe and Ito's palette, without its yellow, which is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#737373"
# Wherever a number, a figure or a page comes from simulated data, it says so in this colour.
SIMULATED = "#B00000"
REAL = "#00734F"
