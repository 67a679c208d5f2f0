/** Thrown during compilation and caught in `parse`. `begin` is the offset in the source. */
export class Refused extends Error {
  constructor(message: string, readonly begin: number) {
    super(message)
  }
}
