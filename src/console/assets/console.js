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
