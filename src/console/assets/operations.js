// Keeps the numbers of the queue up to date, until it is told not to. Without this they are those of the page's loading.

const summary = document.querySelector("[data-summary]")
const pause = document.querySelector("[data-pause]")

const count = new Intl.NumberFormat("en")

const ago = (seconds) =>
  seconds < 1
    ? "none"
    : seconds < 90
    ? `${Math.round(seconds)} s`
    : seconds < 5400
    ? `${Math.round(seconds / 60)} min`
    : `${Math.round(seconds / 3600)} h`

const text = {
  oldest_due_seconds: ago,
  sent_per_second: (rate) => rate >= 10 ? rate.toFixed(0) : rate.toFixed(1),
}

const everyMillis = 2000

if (summary !== null && pause !== null) {
  let paused = false
  const update = async () => {
    if (paused || document.hidden) return
    const answer = await fetch(summary.dataset.summary, { headers: { accept: "application/json" } })
    // The session has ended, or the service is away: the numbers stay as they are.
    if (!answer.ok) return
    const values = await answer.json()
    for (const place of summary.querySelectorAll("[data-live]")) {
      const value = values[place.dataset.live]
      if (typeof value === "number") place.textContent = (text[place.dataset.live] ?? count.format)(value)
    }
  }
  setInterval(() => update().catch(() => {}), everyMillis)
  pause.hidden = false
  pause.addEventListener("click", () => {
    paused = !paused
    pause.textContent = paused ? "Resume updates" : "Pause updates"
  })
}
