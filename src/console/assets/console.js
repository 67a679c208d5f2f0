// Everything works without this; it only spares a few steps.

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy)
  const status = document.getElementById(`${button.dataset.copy}-status`)
  if (source === null || navigator.clipboard === undefined) continue
  button.hidden = false
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.value ?? source.textContent)
    if (status !== null) status.textContent = "Copied"
  })
}

// A new link is selected, so that it can be copied with one key.
const link = document.querySelector("[data-select]")
link?.focus()
link?.select()

// The summary of errors is read out first.
document.querySelector("[data-focus]")?.focus()

// The message after an action: read out, closed without loading the page, and not shown again by a reload.
const toast = document.querySelector("[data-toast]")
if (toast !== null) {
  const said = toast.querySelector("[role=status]")
  const text = said.textContent
  const close = toast.querySelector("a")
  history.replaceState(history.state, "", close.href + location.hash)
  said.textContent = ""
  requestAnimationFrame(() => said.textContent = text)
  const remove = () => toast.remove()
  close.addEventListener("click", (event) => {
    event.preventDefault()
    remove()
  })
  document.addEventListener("keydown", ({ key }) => key === "Escape" && remove())
}

// Menus of rows close by Escape, by a click elsewhere, and when another one opens.
const closeMenus = (except) => {
  for (const menu of document.querySelectorAll(".row-menu[open]")) if (menu !== except) menu.open = false
}
if (document.querySelector(".row-menu") !== null) {
  document.addEventListener("click", ({ target }) => closeMenus(target.closest?.(".row-menu")))
  document.addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape") return
    target.closest?.(".row-menu")?.querySelector("summary").focus()
    closeMenus()
  })
}

// One box for all rows of a list.
for (const label of document.querySelectorAll("[data-choose-all]")) {
  const form = document.getElementById(label.dataset.chooseAll)
  label.hidden = false
  label.querySelector("input").addEventListener("change", ({ target }) => {
    for (const box of form.elements) if (box.type === "checkbox" && box.name !== "") box.checked = target.checked
  })
}

// The command bar: Ctrl+K, or Cmd+K on a Mac, opens it. Typing filters its links, the arrow keys go through them, and Enter
// opens the first one that matches, or searches.
const bar = document.querySelector("[data-command-bar]")
if (bar !== null && typeof bar.showModal === "function") {
  const input = bar.querySelector("input")
  const items = [...bar.querySelectorAll("[data-commands] li")]
  const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)
  const shown = () => items.filter((item) => !item.hidden)
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "")
    for (const item of items) {
      const label = item.querySelector("span").textContent.toLowerCase()
      item.hidden = !words.every((word) => label.includes(word))
      item.classList.remove("first")
    }
    const found = shown()
    if (words.length > 0) found[0]?.classList.add("first")
    bar.querySelector("[data-command-count]").textContent = words.length === 0
      ? ""
      : found.length === 0
      ? "No page or action matches. Enter searches templates and people."
      : `${found.length} ${found.length === 1 ? "page or action" : "pages and actions"}. Enter opens the first one.`
  }
  const open = () => {
    if (bar.open) return
    input.value = ""
    filter()
    bar.showModal()
    input.focus()
  }
  for (const key of document.querySelectorAll("[data-command-key]")) {
    key.hidden = false
    if (isMac) key.textContent = "⌘ K"
  }
  for (const link of document.querySelectorAll("[data-command-open]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      open()
    })
  }
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(isMac ? event.metaKey : event.ctrlKey) || event.shiftKey) return
    event.preventDefault()
    open()
  })
  input.addEventListener("input", filter)
  bar.querySelector("[data-command-close]").addEventListener("click", () => bar.close())
  bar.addEventListener("click", ({ target }) => target === bar && bar.close())
  bar.addEventListener("keydown", (event) => {
    const links = shown().map((item) => item.querySelector("a"))
    const at = links.indexOf(document.activeElement)
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus()
    else if (event.key === "ArrowUp") at <= 0 ? input.focus() : links[at - 1].focus()
    else if (event.key === "Enter" && event.target === input && input.value.trim() !== "" && links.length > 0) {
      links[0].click()
    } else return
    event.preventDefault()
  })
}
