/**
 * Summary of a public log of fashion recommendations with 34 items: the small sample of the Open Bandit Dataset (ZOZO,
 * Inc.; Y. Saito, S. Aihara, M. Matsutani, Y. Narita, "Open Bandit Dataset and Pipeline", NeurIPS 2021), campaign
 * `men`, both behaviour policies, 20,000 decisions with 115 clicks, as published in st-tech/zr-obp under Apache-2.0.
 *
 * The numbers are posterior means (and standard deviations) of the effects on the log click rate in one Poisson
 * regression with an intercept, an effect of every item, of every position (below 0.05 and omitted here) and of every
 * value of the four coded user features that occurs at least 100 times. Each group of effects has a normal distribution
 * around 0 with a spread that maximizes the evidence (items 0.22, features 0.10). The numbers do not reveal any user,
 * item or single decision.
 */
export const obdLog = {
  /** Log click rate of the average item. */
  base: -5.27,
  /** Effect of each item and its standard deviation. */
  items: [
    [0.151, 0.184],
    [-0.102, 0.21],
    [-0.05, 0.211],
    [0.055, 0.207],
    [-0.084, 0.212],
    [-0.084, 0.212],
    [0.005, 0.199],
    [-0.054, 0.21],
    [-0.08, 0.212],
    [-0.056, 0.206],
    [-0.081, 0.204],
    [0.025, 0.209],
    [-0.007, 0.21],
    [0.123, 0.174],
    [0.021, 0.208],
    [-0.026, 0.213],
    [-0.084, 0.212],
    [0.297, 0.196],
    [0.003, 0.211],
    [-0.011, 0.21],
    [0.051, 0.211],
    [-0.012, 0.21],
    [-0.045, 0.211],
    [0.007, 0.184],
    [-0.08, 0.212],
    [0.037, 0.21],
    [-0.011, 0.21],
    [0.134, 0.189],
    [0.007, 0.211],
    [-0.106, 0.21],
    [0.089, 0.21],
    [-0.013, 0.201],
    [-0.072, 0.213],
    [0.05, 0.211],
  ],
  /** Values of the user features with their shares and their effects on all items alike. */
  features: [
    { name: "u0", values: [["1", 0.129, -0.06], ["2", 0.871, 0.064]] },
    { name: "u1", values: [["0", 0.781, 0.05], ["1", 0.115, -0.007], ["2", 0.008, -0.008], ["4", 0.096, -0.034]] },
    {
      name: "u2",
      values: [
        ["0", 0.21, 0.037],
        ["1", 0.061, -0.026],
        ["2", 0.136, 0.01],
        ["4", 0.19, 0.004],
        ["5", 0.176, 0.005],
        ["6", 0.023, -0.006],
        ["7", 0.205, -0.023],
      ],
    },
    {
      name: "u3",
      values: [
        ["0", 0.046, 0.016],
        ["1", 0.093, 0.001],
        ["3", 0.023, -0.007],
        ["5", 0.402, -0.039],
        ["6", 0.302, -0.022],
        ["8", 0.134, 0.053],
      ],
    },
  ],
} as const
