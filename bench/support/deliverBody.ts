/**
 * A request to Deliver without its `email`. A separate file, so that a load generator loads no module of the service.
 */
export const deliverBody = {
  template_id: "welcome",
  fields: { name: "Ann", city: "Oslo", product: "boots" },
  attrs: { tier: "gold", country: "NO" },
}
