"""Where the posterior's numbers stand in its arrays: for its kernels, and for the policy that keeps the arrays."""

# The coordinates: l = log median, t = logit p, s = log log(q75 / q25). A prior is a row of their means and a row of
# their variances.
L, T, S = 0, 1, 2

# A candidate, the law of one arm: its standard form (the first five), the powers by which that depends on the shape's
# coordinate (`headgate.laws.learned`), log median at rate 1, row of the maps (-1 where the shape is known), whether it
# counts in whole units, and, where the shape is known, the spread log(q75 / q25).
BASE, A, B, SHIFT, CAP, POWER_A, POWER_B, POWER_SHIFT, POWER_ROW, MEDIAN, MAP, WHOLE, SPREAD = range(13)
CANDIDATE = 13

# A map from s to what a law needs: the shape's coordinate, log median at rate 1, and (first s, step), each a row.
COORDINATE, LOG_MEDIAN, SPAN = 0, 1, 2

# What is kept of an arm under a law: mean and covariance of (l, s), and the log marginal likelihood.
MEAN_L, MEAN_S, COV_LL, COV_LS, COV_SS, EVIDENCE = range(6)
BELIEF = 6

# A level of the map from noise to the posterior of a known shape: l, and mode, deviation and skewness of t given l.
LEVELS, LEVEL = 17, 4

# An arm's memory: the round in which it is due for a refresh, means and variances of (l, t, s), and either LEVELS
# levels or as many curves of equal weight, each (law, l, s).
DUE, MEAN, VARIANCE, DRAWS = 0, 1, 4, 7
MEMORY = DRAWS + LEVELS * LEVEL

# A draw of an arm: law, the standard form that depends on the shape, rate, activation.
LAW, DRAWN_A, DRAWN_B, DRAWN_SHIFT, RATE, ACTIVATION = range(6)
DRAW = 6
