import process from "node:process"

// Hides `AsyncResource` of `node:async_hooks` from `process.getBuiltinModule`, through which `effect` finds it on its
// first import. With it, `effect` creates an `AsyncResource` at every suspension of a fiber, and on Deno 2.9.6 each one
// keeps the previous one alive: a fiber that never ends leaks 0.94 kB per suspension. The module itself can still be
// imported, and `AsyncLocalStorage` stays available. See docs/decisions/0028.

const hidden = new Set(["node:async_hooks", "async_hooks"])
const getBuiltinModule = process.getBuiltinModule.bind(process)

process.getBuiltinModule = ((id: string) => {
  const module = getBuiltinModule(id)
  if (module === undefined || !hidden.has(id)) return module
  return Object.freeze({ ...module, AsyncResource: undefined })
}) as typeof process.getBuiltinModule
