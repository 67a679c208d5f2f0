/** Lets the process end although a timer of `setTimeout` or `setInterval` is pending. */
export const unref = (timer: unknown): void => {
  if (timer instanceof Object && "unref" in timer && typeof timer.unref === "function") timer.unref()
}
