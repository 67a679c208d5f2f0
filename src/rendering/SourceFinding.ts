/** A part of a source that is probably not what its author means. `begin` is its offset in the source. */
export interface SourceFinding {
  readonly begin: number
  readonly message: string
}
