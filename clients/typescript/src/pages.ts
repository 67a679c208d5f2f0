/** A page of a list. */
export interface Page {
  /** `cursor` of the following page. Null on the last page. */
  readonly next_cursor: string | null
}

/** A list: `await` returns its first page, `for await` reads the rows of all pages. */
export interface List<P extends Page, Row> extends Promise<P>, AsyncIterable<Row> {}

/** Returns a list that begins at `cursor`, by default with its first row. */
export const listOf = <P extends Page, Row>(
  read: (cursor: string | undefined) => Promise<P>,
  rowsOf: (page: P) => ReadonlyArray<Row>,
  cursor: string | undefined,
): List<P, Row> => {
  const first = read(cursor)
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      for (let page = await first;; page = await read(page.next_cursor)) {
        yield* rowsOf(page)
        if (page.next_cursor === null) return
      }
    },
  })
}
