/** Whether a host is an address of this machine that other machines cannot reach. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host)

/**
 * Returns the warning for a service that listens beyond loopback without a proxy. Undefined if `host` is loopback or a
 * proxy is trusted.
 */
export const proxyAdvice = (host: string, trustedProxies: ReadonlyArray<unknown>): string | undefined =>
  isLoopback(host) || trustedProxies.length > 0 ? undefined : (
    `The service listens at HOST ${host}, and TRUSTED_PROXIES is empty. Slow clients and many connections can make it ` +
    "unavailable. Put a proxy in front, such as HAProxy with deploy/haproxy/haproxy.cfg, and set TRUSTED_PROXIES to the " +
    "proxy's addresses. See docs/operations/proxy.md"
  )
