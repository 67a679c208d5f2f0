/** Whether a text has a control character: U+0000 to U+001F, or U+007F. */
// deno-lint-ignore no-control-regex
export const hasControl = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text)

/** Fault of a member whose name has a control character. */
export const controlFault = "the name must not contain control characters"

// Keeps the response to a small body small.
const maxPointers = 100
const maxPointerLength = 1_000

interface Place {
  readonly value: unknown
  readonly name: string
  readonly pointer: string
}

/**
 * JSON pointers to the members of a value whose names have control characters, at every depth, up to 100. A pointer of
 * over 1,000 characters ends at a parent of the member.
 */
export const controlNamesIn = (value: unknown): ReadonlyArray<string> => {
  const pointers: Array<string> = []
  // An explicit stack, because parsed JSON may have any depth.
  const open: Array<Place> = [{ value, name: "", pointer: "" }]
  for (let place = open.pop(); place !== undefined && pointers.length < maxPointers; place = open.pop()) {
    const { name, pointer } = place
    if (hasControl(name)) pointers.push(pointer)
    if (typeof place.value !== "object" || place.value === null) continue
    const members = Object.entries(place.value)
    for (let at = members.length - 1; at >= 0; at--) {
      const [name, value] = members[at]!
      const token = name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")
      open.push({ value, name, pointer: pointer.length > maxPointerLength ? pointer : `${pointer}/${token}` })
    }
  }
  return pointers
}
