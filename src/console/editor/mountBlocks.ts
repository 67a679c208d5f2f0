import { make } from "../browser/dom.ts"
import { t } from "../browser/language.ts"
import { BlockList, type BlocksPlace } from "./blocks.ts"
import type { ChosenBlocks } from "./previewBlocks.ts"

/** Puts the blocks above the code editor, and a switch between both. */
export const mountBlocks = (place: BlocksPlace): ChosenBlocks & { readonly offer: (isMjml: boolean) => void } => {
  const { area, label, view } = place
  const blocks = new BlockList(place)
  const button = (word: string) => make("button", { type: "button" }, word)
  const [visual, code] = [button(t`Blocks`), button(t`Code`)]
  const choice = make("div", { class: "segments", role: "group", "aria-label": t`View of ${label}` }, visual, code)
  const show = (isVisual: boolean) => {
    visual.ariaPressed = String(isVisual)
    code.ariaPressed = String(!isVisual)
    blocks.panel.hidden = !isVisual
    view.dom.hidden = isVisual
    // The images of this link come to the cursor of the code.
    const insertion = area.closest("fieldset")?.querySelector("a[data-insert-image]")?.parentElement
    if (insertion) insertion.hidden = isVisual
    if (isVisual) blocks.changed()
    else view.requestMeasure()
  }
  visual.addEventListener("click", () => show(true))
  code.addEventListener("click", () => show(false))
  view.dom.before(make("div", {}, choice), blocks.panel)
  return {
    pathAt: (offset) => blocks.pathAt(offset),
    open: () => blocks.panel.hidden ? undefined : blocks.open,
    choose: (path) => {
      if (blocks.panel.hidden) show(true)
      blocks.choose(path)
    },
    offer: (isMjml) => {
      choice.hidden = !isMjml
      show(isMjml && blocks.isReadable)
    },
  }
}
