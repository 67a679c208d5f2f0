import { english } from "../languages/Language.ts"
/** Platforms whose copy can be converted, with their titles. `other`: placeholders of platforms not named here. */
export const copyPlatforms = {
  activecampaign: "ActiveCampaign",
  braze: "Braze",
  campaignmonitor: "Campaign Monitor",
  clevertap: "CleverTap",
  customerio: "Customer.io",
  dittofeed: "Dittofeed",
  hubspot: "HubSpot",
  iterable: "Iterable",
  klaviyo: "Klaviyo",
  mailchimp: "Mailchimp",
  mailgun: "Mailgun",
  mandrill: "Mandrill",
  marketo: "Marketo",
  moengage: "MoEngage",
  onesignal: "OneSignal",
  sendgrid: "SendGrid",
  sfmc: "Marketing Cloud",
  other: english("Another platform"),
} as const

/** The name of a platform in requests and commands. */
export type CopyPlatform = keyof typeof copyPlatforms

/** The names of all platforms, in alphabetical order with `other` at the end. */
export const platformNames = Object.keys(copyPlatforms) as ReadonlyArray<CopyPlatform>
