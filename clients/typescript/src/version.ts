/** The version of this client, which is the version of the service that it is released with. */
export const version = "0.2.0"

const { navigator, process } = globalThis as {
  readonly navigator?: { readonly userAgent?: string }
  readonly process?: { readonly version?: string }
}

/** The runtime with its version, such as `Deno/2.9.6`. Node has no `navigator` before version 21. */
const runtime = navigator?.userAgent ??
  (process?.version === undefined ? "unknown" : `Node.js/${process.version.slice(1)}`)

/** `User-Agent` of each request. Browsers replace it by their own. */
export const userAgent = `parlance-js/${version} (${runtime})`
