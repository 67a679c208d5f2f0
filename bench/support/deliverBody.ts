/** A request to Deliver but for its `email`. Apart from the rest, so that a load generator loads nothing of the service. */
export const deliverBody = {
  template_id: "welcome",
  fields: { name: "Ann", city: "Oslo", product: "boots" },
  attrs: { tier: "gold", country: "NO" },
}
