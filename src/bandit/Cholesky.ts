/** Index of row `i`, column `j` <= `i` in the lower triangle of a symmetric matrix stored row by row. */
export const packedIndex = (i: number, j: number): number => i * (i + 1) / 2 + j

/** Numbers in the packed lower triangle of a symmetric matrix of `size` rows. */
export const packedLength = (size: number): number => size * (size + 1) / 2

/**
 * Factors the symmetric matrix A = L L' in place: `a` contains the packed lower triangle of A, and afterwards of L. If
 * rounding makes a pivot zero or negative, it is replaced by 1e-300, so that a barely singular covariance still has a
 * factor.
 */
export const factor = (a: Float64Array, size: number): void => {
  for (let i = 0, row = 0; i < size; i++, row += i) {
    for (let j = 0, other = 0; j <= i; j++, other += j) {
      let sum = a[row + j]!
      for (let k = 0; k < j; k++) sum -= a[row + k]! * a[other + k]!
      a[row + j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / a[other + j]!
    }
  }
}

/** Solves L L' x = b in place, given the packed factor `l`. */
export const solve = (l: Float64Array, size: number, b: Float64Array): void => {
  for (let i = 0, row = 0; i < size; i++, row += i) {
    let sum = b[i]!
    for (let k = 0; k < i; k++) sum -= l[row + k]! * b[k]!
    b[i] = sum / l[row + i]!
  }
  for (let i = size - 1; i >= 0; i--) {
    const row = packedIndex(i, 0)
    const x = b[i]! / l[row + i]!
    b[i] = x
    // Column by column of L' is row by row of L, so that memory is read sequentially.
    for (let k = 0; k < i; k++) b[k] = b[k]! - l[row + k]! * x
  }
}

/** Replaces the packed factor `l` by the packed lower triangle of (L L')^-1. */
export const invert = (l: Float64Array, size: number): void => {
  // First L^-1, column by column. A column reads only elements to its right and below, which are still L.
  for (let j = 0; j < size; j++) {
    const diagonal = packedIndex(j, j)
    const inverse = 1 / l[diagonal]!
    for (let i = j + 1; i < size; i++) {
      const row = packedIndex(i, 0)
      let sum = l[row + j]! * inverse
      for (let k = j + 1; k < i; k++) sum += l[row + k]! * l[packedIndex(k, j)]!
      l[row + j] = -sum / l[row + i]!
    }
    l[diagonal] = inverse
  }
  // Then (L^-1)' L^-1. Row i of the product reads only rows of L^-1 from i on.
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0
      for (let k = i, row = packedIndex(i, 0); k < size; k++, row += k) sum += l[row + i]! * l[row + j]!
      l[packedIndex(i, j)] = sum
    }
  }
}
