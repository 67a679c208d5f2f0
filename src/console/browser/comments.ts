// Completes the names of members after an @. Everything works without this: names can be typed.
import { all, around, need } from "./dom.ts"
import { counted } from "./language.ts"

const most = 8

/** The part of a mention before the caret, and where it begins; undefined if there is none. */
const mentionAt = (text: string, caret: number) => {
  const [, typed] = /(?:^|[^\p{L}\p{N}_])@([^@\n]{0,60})$/u.exec(text.slice(0, caret)) ?? []
  return typed === undefined ? undefined : { typed, start: caret - typed.length }
}

for (const box of all(document, "[data-mentions]")) {
  const area = need<HTMLTextAreaElement>(box, "textarea")
  const list = need(box, "[role=listbox]")
  const status = need(box, "[role=status]")
  const options = all(list, "[role=option]")
  let shown: ReadonlyArray<HTMLElement> = []
  let active = -1
  area.setAttribute("aria-controls", list.id)
  area.setAttribute("aria-autocomplete", "list")

  const choose = (at: number) => {
    active = at
    const chosen = shown[at]
    for (const option of options) option.setAttribute("aria-selected", String(option === chosen))
    if (chosen === undefined) area.removeAttribute("aria-activedescendant")
    else area.setAttribute("aria-activedescendant", chosen.id)
  }
  const close = () => {
    shown = []
    list.hidden = true
    status.textContent = ""
    choose(-1)
  }
  const complete = (option: HTMLElement) => {
    const mention = mentionAt(area.value, area.selectionStart)
    if (mention === undefined) return close()
    area.setRangeText(`${option.dataset["handle"]} `, mention.start, area.selectionStart, "end")
    close()
    area.focus()
  }
  const suggest = () => {
    const mention = area.selectionStart === area.selectionEnd ? mentionAt(area.value, area.selectionStart) : undefined
    if (mention === undefined) return close()
    const typed = mention.typed.toLowerCase()
    const matches = (option: HTMLElement) => {
      const text = (option.textContent ?? "").trim().toLowerCase()
      return text.startsWith(typed) || text.split(/\s+/).some((word) => word.startsWith(typed))
    }
    shown = options.filter(matches).slice(0, most)
    for (const option of options) option.hidden = !shown.includes(option)
    if (shown.length === 0) return close()
    list.hidden = false
    status.textContent = counted(
      shown.length,
      "member. Arrow keys choose, Enter inserts.",
      "members. Arrow keys choose, Enter inserts.",
    )
    choose(0)
  }

  area.addEventListener("input", suggest)
  area.addEventListener("blur", close)
  area.addEventListener("keydown", (event) => {
    const chosen = shown[active]
    if (chosen === undefined) return
    if (event.key === "ArrowDown") choose((active + 1) % shown.length)
    else if (event.key === "ArrowUp") choose((active + shown.length - 1) % shown.length)
    else if (event.key === "Enter" || event.key === "Tab") complete(chosen)
    else if (event.key === "Escape") close()
    else return
    event.preventDefault()
  })
  // Before the blur, which would close the list.
  list.addEventListener("pointerdown", (event) => {
    const option = around(event.target, "[role=option]")
    if (option === null) return
    event.preventDefault()
    complete(option)
  })
}
