/** The fault of a base address for tracked links. Undefined for a valid address. */
export const trackingUrlFault = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url === undefined || text.length > 200 || !/^https?:$/.test(url.protocol)
    ? "must be a URL such as https://links.shop.example, 200 characters at most"
    : url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== ""
    ? "must have no user, password, query or fragment"
    : undefined
}
