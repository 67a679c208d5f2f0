// Shows the blocks of a message in its preview. A click opens the form of a block. The frames of the preview run no scripts: this
// script measures the elements of the message in them, and puts boxes over them.
import { markedOffset } from "../../rendering/BlockMarks.ts"
import { all, around, make } from "../browser/dom.ts"
import { t } from "../browser/language.ts"

/** The blocks of a variable, by paths such as `0.1.2`. */
export interface ChosenBlocks {
  /** Returns the path of the block whose opening tag begins at an offset of the source. */
  readonly pathAt: (offset: number) => string | undefined
  /** The open block. */
  readonly open: () => string | undefined
  readonly choose: (path: string) => void
}

/** A block of a message. Unit: CSS pixels of the message, from the top left of the page. */
interface MeasuredBlock {
  readonly offset: number
  readonly rect: DOMRect
}

const measured = (message: Document): ReadonlyArray<MeasuredBlock> => {
  const found: Array<MeasuredBlock> = []
  const comments = message.createNodeIterator(message, NodeFilter.SHOW_COMMENT)
  for (let comment = comments.nextNode(); comment !== null; comment = comments.nextNode()) {
    const offset = markedOffset(comment.nodeValue ?? "")
    const rect = (comment as Comment).nextElementSibling?.getBoundingClientRect()
    if (offset !== undefined && rect !== undefined && rect.width > 0 && rect.height > 0) found.push({ offset, rect })
  }
  return found
}

/** Puts boxes over the preview in `holder`. `blocksOf` returns the blocks of a variable. */
export const showPreviewBlocks = (
  holder: HTMLElement,
  blocksOf: (variable: string) => ChosenBlocks | undefined,
): { readonly mark: () => void } => {
  const boxes = make("div", { class: "preview-blocks", "aria-hidden": "true", hidden: true })
  let frame: HTMLIFrameElement | undefined
  let message: HTMLIFrameElement | undefined
  let blocks: ChosenBlocks | undefined
  let scale = 1
  /** Where the boxes have scrolled the message to. */
  let given = 0
  holder.append(boxes)

  /** Marks the box of the open block. */
  const mark = () => {
    const open = blocks?.open()
    for (const box of all(boxes, "[data-path]")) box.classList.toggle("chosen", box.dataset["path"] === open)
    const chosen = boxes.querySelector<HTMLElement>(".chosen")
    // Scrolls the message alone: the page stays where the reader is.
    if (chosen === null) return
    const [from, to] = [boxes.scrollTop, boxes.scrollTop + boxes.clientHeight - chosen.offsetHeight]
    if (chosen.offsetTop < from || chosen.offsetTop > to) boxes.scrollTop = chosen.offsetTop
  }

  const scrolled = () => message?.contentWindow?.scrollY ?? 0
  /** Keeps the boxes over their blocks if the message scrolls itself, such as to a link that gets the focus. */
  const follow = () => {
    if (scrolled() !== given) boxes.scrollTop = scrolled() * scale
  }

  const measure = () => {
    message = frame?.contentDocument?.querySelector<HTMLIFrameElement>("iframe[data-blocks-of]") ?? undefined
    const inner = message?.contentDocument
    blocks = message && blocksOf(message.dataset["blocksOf"]!)
    boxes.hidden = true
    if (frame === undefined || message === undefined || !inner?.documentElement || blocks === undefined) return
    const { height, left, top, width } = message.getBoundingClientRect()
    scale = width / message.offsetWidth
    const place = { left: left + frame.offsetLeft, top: top + frame.offsetTop, width, height }
    for (const [side, value] of Object.entries(place)) boxes.style.setProperty(side, `${value}px`)
    const [x, y] = [message.contentWindow?.scrollX ?? 0, scrolled()]
    const filler = make("div")
    filler.style.height = `${inner.documentElement.scrollHeight * scale}px`
    boxes.replaceChildren(
      filler,
      ...measured(inner).flatMap(({ offset, rect }) => {
        const path = blocks!.pathAt(offset)
        if (path === undefined) return []
        const box = make("div", { "data-path": path, title: t`Edit this block` })
        const sides = { left: rect.left + x, top: rect.top + y, width: rect.width, height: rect.height }
        for (const [side, value] of Object.entries(sides)) box.style.setProperty(side, `${value * scale}px`)
        return [box]
      }),
    )
    boxes.hidden = false
    boxes.scrollTop = y * scale
    inner.addEventListener("scroll", follow)
    mark()
  }

  boxes.addEventListener("scroll", () => {
    message?.contentWindow?.scrollTo({ top: boxes.scrollTop / scale, behavior: "instant" })
    given = scrolled()
  })
  boxes.addEventListener("click", ({ target }) => {
    const path = around(target, "[data-path]")?.dataset["path"]
    if (path !== undefined) blocks?.choose(path)
  })
  holder.addEventListener("previewed", ({ target }) => {
    if (!(target instanceof HTMLIFrameElement)) return
    frame = target
    measure()
  })
  // Images of the message change its layout when they are there.
  holder.addEventListener("load", measure, true)
  new ResizeObserver(measure).observe(holder)
  return { mark }
}
