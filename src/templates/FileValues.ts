/** A value of the file and its position. */
export interface Located {
  /** The plain value: `null`, boolean, number, string, array or object. */
  readonly value: unknown
  readonly offset: number
  /** The written form of a scalar, without its quotes. */
  readonly source?: string
  /** The line behind the key or the dash. Only for values that are no text. */
  readonly line?: string
  /** The members of an object, or the elements of an array by their index. */
  readonly members?: ReadonlyMap<string, FileMember>
  /** Number of scalars, arrays and objects in the value. Values of an alias count each time. */
  readonly size: number
}

/** A member of an object, with the position of its name. */
export interface FileMember {
  readonly keyOffset: number
  readonly at: Located
}

/** A fault by its position in the text. */
export interface PlacedFault {
  readonly offset: number
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}
