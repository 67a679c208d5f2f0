const inverseSqrtTwoPi = 0.3989422804014327

/** Density of the standard normal distribution at `z`, 0 at either infinity. */
export const phi = (z: number): number => inverseSqrtTwoPi * Math.exp(-0.5 * z * z)

/**
 * Distribution function of the standard normal at `z`, in [0, 1], with an absolute error below 1e-15; the lower tail
 * keeps a relative error below 1e-8 down to `z` = -37 (exactly 0 below -38, exactly 1 above about 8.3).
 *
 * Source: J. F. Hart et al., "Computer Approximations" (1968), algorithm 5666, in the form of G. West, "Better
 * approximations to cumulative normal functions" (Wilmott, 2005).
 */
export const Phi = (z: number): number => {
  const a = Math.abs(z)
  if (a > 38) return z > 0 ? 1 : 0
  const e = Math.exp(-0.5 * a * a)
  let tail: number
  if (a < 7.07106781186547) {
    const above = (((((3.52624965998911e-2 * a + 0.700383064443688) * a + 6.37396220353165) * a + 33.912866078383) * a +
              112.079291497871) * a + 221.213596169931) * a + 220.206867912376
    const below = ((((((8.83883476483184e-2 * a + 1.75566716318264) * a + 16.064177579207) * a + 86.7807322029461) * a +
                  296.564248779674) * a + 637.333633378831) * a + 793.826512519948) * a + 440.413735824752
    tail = e * above / below
  } else {
    tail = e * inverseSqrtTwoPi / (a + 1 / (a + 2 / (a + 3 / (a + 4 / (a + 0.65)))))
  }
  return z > 0 ? 1 - tail : tail
}
