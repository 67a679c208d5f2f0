// Loaded before the service: SIGUSR2 makes an error that nothing catches.
import process from "node:process"

const makeError = () => new RangeError('no "Zephyrine" here')

Deno.addSignalListener("SIGUSR2", () => {
  setTimeout(() => {
    if (process.env.UNCAUGHT === "exception") throw makeError()
    void Promise.reject(makeError())
  }, 0)
})
