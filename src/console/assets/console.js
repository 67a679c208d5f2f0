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
