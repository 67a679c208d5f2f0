// Comments before the elements of compiled MJML, by which the editor finds the blocks of a message in its preview. Only previews
// of the console contain them. Pure.

/** Returns the mark of the element whose opening tag begins at an offset of the source. Unit: UTF-16 code units. */
export const blockMark = (at: number): string => `<!--block ${at}-->`

/** Returns the offset of a mark from the content of a comment. Undefined for other comments. */
export const markedOffset = (comment: string): number | undefined =>
  /^block \d+$/.test(comment) ? Number(comment.slice(6)) : undefined

/** Returns HTML without marks, as it is sent. */
export const withoutBlockMarks = (html: string): string => html.replace(/<!--block \d+-->/g, "")
