import type { ComponentChildren } from "preact"
import { type Head, PageHead } from "./components/PageHead.tsx"
import type { View } from "./Routes.tsx"

/** A page with its head, then `parts` in order. */
export const view = (
  { document, live, status, styleNonce, ...head }: Head & Pick<View, "live" | "status" | "styleNonce"> & {
    /** The title of the document. Default: the title of the head. */
    readonly document?: string
  },
  ...parts: ReadonlyArray<ComponentChildren>
): View => ({
  title: document ?? head.title,
  body: (
    <>
      <PageHead {...head} />
      {parts}
    </>
  ),
  ...(head.back === undefined ? {} : { back: head.back.href }),
  ...(live === undefined ? {} : { live }),
  ...(status === undefined ? {} : { status }),
  ...(styleNonce === undefined ? {} : { styleNonce }),
})
