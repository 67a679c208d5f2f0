/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

// Finds elements of the page with their types.

/** Returns the element of a selector. Throws if the page lacks it. */
export const need = <E extends Element = HTMLElement>(root: ParentNode, selector: string): E => {
  const found = root.querySelector<E>(selector)
  if (found === null) throw new Error(`The page has no ${selector}`)
  return found
}

/** Returns all elements of a selector. */
export const all = <E extends Element = HTMLElement>(root: ParentNode, selector: string): ReadonlyArray<E> => [
  ...root.querySelectorAll<E>(selector),
]

/** A control of a form with a value. */
export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const isControl = (element: unknown): element is Control =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement

/** Returns the controls of a name or id. Radio buttons and boxes of one name are several. */
export const controlsOf = (form: HTMLFormElement, name: string): ReadonlyArray<Control> => {
  const found = form.elements.namedItem(name)
  const several: ReadonlyArray<unknown> = found instanceof RadioNodeList ? [...found] : [found]
  return several.filter(isControl)
}

/** Returns the first control of a name. Throws if the form lacks it. */
export const controlOf = (form: HTMLFormElement, name: string): Control => {
  const [control] = controlsOf(form, name)
  if (control === undefined) throw new Error(`The form has no control ${name}`)
  return control
}

/** Returns the closest element around the target of an event. */
export const around = (target: EventTarget | null, selector: string): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(selector) : null

/** Makes an element with attributes and children. An attribute that is false is left out, and one that is true is empty. */
export const make = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string | boolean>> = {},
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(key, value === true ? "" : value)
  }
  element.append(...children)
  return element
}
