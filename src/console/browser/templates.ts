// Updates the preview while a person types, and reads a file into the form. Without this script, the preview has a button,
// and the field of the file is hidden.

import { idOfName } from "../../templates/SuggestedId.ts"
import { textOf, valueAt, valueOf, withValue } from "../pages/templates/SampleValues.ts"
import { all, controlOf, controlsOf, need } from "./dom.ts"
import { offerImages } from "./insertImage.ts"
import { t } from "./language.ts"

/** A fault or warning of the preview at a field. */
interface Finding {
  readonly at: string | undefined
  readonly detail: string
  readonly isWarning: boolean
}

const form = document.querySelector<HTMLFormElement>("form[data-live]")
if (form !== null) {
  const button = need<HTMLButtonElement>(form, "[data-preview]")
  const status = need(form, "[data-live-status]")
  let frame = need<HTMLIFrameElement>(form, "iframe")
  let waiting: ReturnType<typeof setTimeout> | undefined
  let number = 0

  /** The line that a fault names, with a mark below its column. */
  const excerptAt = (source: string, detail: string) => {
    const [, line, column] = /^\p{L}+ (\d+), \p{L}+ (\d+):/u.exec(detail) ?? []
    const text = source.split("\n")[Number(line) - 1]
    if (text === undefined) return undefined
    const at = Number(column) - 1
    const start = Math.max(0, at - 50)
    const excerpt = document.createElement("pre")
    excerpt.className = "excerpt"
    excerpt.ariaHidden = "true"
    excerpt.textContent = `${start > 0 ? "…" : ""}${text.slice(start, start + 100)}\n${
      " ".repeat(at - start + (start > 0 ? 1 : 0))
    }^`
    return excerpt
  }

  /** Shows the faults and warnings of the preview at their fields, and removes earlier ones. */
  const place = (faults: ReadonlyArray<Finding>) => {
    for (const error of all(form, "[data-error-of]")) {
      const found = faults.filter(({ at }) => at === error.dataset["errorOf"])
      const controls = controlsOf(form, error.dataset["errorOf"] ?? "")
      const isFaulty = found.some(({ isWarning }) => !isWarning)
      for (const one of controls) {
        if (isFaulty) one.setAttribute("aria-invalid", "true")
        else one.removeAttribute("aria-invalid")
      }
      const text = found.map(({ detail }) => detail).join("\n")
      if (error.dataset["shown"] === text) continue
      error.dataset["shown"] = text
      const [control] = controls
      control?.dispatchEvent(new CustomEvent("faults", { detail: found }))
      error.replaceChildren(...found.flatMap(({ detail, isWarning }) => {
        const line = document.createElement("p")
        line.className = isWarning ? "caution" : "error"
        line.textContent = detail
        // The editor underlines the place in the text itself.
        const excerpt = control?.hidden === true ? undefined : excerptAt(control?.value ?? "", detail)
        return excerpt === undefined ? [line] : [line, excerpt]
      }))
    }
    const warnings = faults.filter(({ isWarning }) => isWarning).length
    const wrong = faults.length - warnings
    status.textContent = [
      ...(wrong === 0 ? [] : [t`To correct: ${wrong}`]),
      ...(warnings === 0 ? [] : [t`To check: ${warnings}`]),
    ].join(". ")
  }

  /** Shows the warning about content that cannot be sent, as the preview has it. */
  const warn = (text: string) => {
    const place = need(document, "#send-warning")
    const line = need(place, ":scope > *")
    place.hidden = text === ""
    if (line.textContent !== text) line.textContent = text
  }

  const samples = need(form, "[data-samples]")

  /** The place of an input of the sample: the control with its JSON, whether it is a number, and its path. */
  const placeOf = (input: HTMLElement) => {
    const [part, isNumber, ...path] = JSON.parse(input.dataset["sample"]!) as [string, boolean, ...Array<string>]
    return { area: controlOf(form, part), isNumber, path }
  }

  const jsonOf = (text: string): unknown => {
    try {
      return JSON.parse(text.trim() || "{}")
    } catch {
      return undefined
    }
  }

  /** Keeps the inputs of the sample and its JSON alike. */
  const alike = (target: EventTarget | null) => {
    if (target instanceof HTMLInputElement && target.dataset["sample"] !== undefined) {
      const { area, isNumber, path } = placeOf(target)
      const json = jsonOf(area.value)
      if (json === undefined) return
      area.value = JSON.stringify(withValue(json, path, valueOf(target.value, isNumber)), null, 2)
    } else if (target instanceof HTMLTextAreaElement && (target.name === "fields" || target.name === "attrs")) {
      const json = jsonOf(target.value)
      if (json === undefined) return
      for (const input of all<HTMLInputElement>(samples, "[data-sample]")) {
        const { area, path } = placeOf(input)
        if (area === target) input.value = textOf(valueAt(json, path))
      }
    }
  }

  /** Shows the inputs for the fields that the Liquid uses now, unless somebody types into one. */
  const offer = (fresh: HTMLTemplateElement) => {
    if (fresh.dataset["samples"] === samples.dataset["samples"] || samples.contains(document.activeElement)) return
    samples.dataset["samples"] = fresh.dataset["samples"]
    samples.replaceChildren(document.importNode(fresh.content, true))
  }

  const fit = (shown: HTMLIFrameElement) => {
    const height = shown.contentDocument?.documentElement?.scrollHeight ?? 0
    if (height > 0) shown.style.height = `${Math.min(Math.max(height, 200), 4000)}px`
  }

  /** Reports a preview that has arrived, for the boxes over its blocks. */
  const report = (shown: HTMLIFrameElement) => {
    fit(shown)
    shown.dispatchEvent(new Event("previewed", { bubbles: true }))
  }

  const fitLater = (shown: HTMLIFrameElement) => shown.addEventListener("load", () => fit(shown))

  /**
   * Calls `done` once when the document of a frame is there. The pictures of the message in it, which may come from slow
   * servers, get a moment and are not waited for.
   */
  const onArrival = (shown: HTMLIFrameElement, done: () => void) => {
    let isDone = false
    const finish = () => {
      if (isDone || shown.contentDocument === null || shown.contentDocument.URL === "about:blank") return
      isDone = true
      done()
    }
    const look = () => {
      const arriving = shown.contentDocument
      if (isDone || !shown.isConnected) return
      if (arriving === null || arriving.URL === "about:blank" || arriving.readyState === "loading") {
        requestAnimationFrame(look)
      } else setTimeout(finish, 150)
    }
    shown.addEventListener("load", finish)
    look()
  }

  // Each preview comes into a frame of its own, which takes the place of the last when it is there: nothing flickers,
  // and going back leaves the page rather than stepping through the previews.
  const preview = () => {
    const next = frame.cloneNode() as HTMLIFrameElement
    next.removeAttribute("src")
    next.removeAttribute("style")
    next.name = `preview-${++number}`
    next.classList.add("coming")
    const mine = number
    frame.after(next)
    onArrival(next, () => {
      // A later preview removes this frame. Removing a frame that still loads ends its loading, which leads here.
      if (mine !== number) return
      const body = next.contentDocument
      if (body === null) return next.remove()
      const top = frame.contentWindow?.scrollY ?? 0
      for (const other of all(form, ".frame-holder iframe")) if (other !== next) other.remove()
      frame = next
      frame.classList.remove("coming")
      report(frame)
      fitLater(frame)
      frame.contentWindow?.scrollTo(0, top)
      const shown = body.querySelector<HTMLElement>("main.preview")
      if (shown === null) return
      warn(shown.dataset["warning"] ?? "")
      const fresh = body.querySelector<HTMLTemplateElement>("template[data-samples]")
      if (fresh !== null) offer(fresh)
      place(
        all(body, "[data-fault], [data-caution]").map(({ dataset }) => ({
          at: dataset["fault"] ?? dataset["caution"],
          detail: dataset["detail"] ?? "",
          isWarning: dataset["fault"] === undefined,
        })),
      )
    })
    button.formTarget = next.name
    form.requestSubmit(button)
  }

  button.addEventListener("click", (event) => {
    // A click is by a person: `requestSubmit` above does not click.
    event.preventDefault()
    preview()
  })
  form.addEventListener("input", ({ target }) => {
    alike(target)
    clearTimeout(waiting)
    waiting = setTimeout(preview, target instanceof HTMLInputElement && target.type === "radio" ? 0 : 400)
  })
  form.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
    event.preventDefault()
    form.requestSubmit(need(form, ".save-bar [type=submit]"))
  })
  offerImages(form)
  fitLater(frame)
  if (frame.hasAttribute("src")) onArrival(frame, () => report(frame))
  else preview()
}

for (const input of all<HTMLInputElement>(document, "input[type=file][data-into]")) {
  const into = need<HTMLTextAreaElement>(document, `#${input.dataset["into"]}`)
  const upload = input.closest<HTMLElement>("[data-upload]")
  if (upload !== null) upload.hidden = false
  input.addEventListener("change", async () => {
    const file = input.files?.[0]
    if (file === undefined) return
    const text = await file.text()
    // Bytes that are not UTF-8 are U+FFFD in the text, and UTF-16 has NUL characters.
    const at = text.search(/[\ufffd\0]/)
    input.setCustomValidity(
      at < 0
        ? ""
        : t`Line ${
          text.slice(0, at).split("\n").length
        } of ${file.name} is not UTF-8. Save the file as UTF-8, then choose it again.`,
    )
    if (at < 0) into.value = text
    else {
      input.reportValidity()
      input.value = ""
    }
  })
}

// The id that the service makes of a name where none is written.
const written = document.querySelector<HTMLInputElement>("form input[name=id]")
if (written !== null && written.form !== null) {
  const name = controlOf(written.form, "name")
  // The id of a name without Latin letters, as the page proposes it.
  const neutral = written.placeholder
  const suggest = () => {
    written.placeholder = name.value.trim() === "" ? "" : idOfName(name.value) || neutral
  }
  name.addEventListener("input", suggest)
  suggest()
}
