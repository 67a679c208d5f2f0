import { sealedSecondFactors } from "../accounts/SecondFactors.ts"
import { sealedBuckets } from "../buckets/Buckets.ts"
import { sealedConnections, sealedDkimKeys } from "../delivery/SealedSecrets.ts"
import { sealedSources } from "../intake/WebhookSources.ts"
import { sealedMails } from "../mail/MailQueue.ts"
import { sealedReports } from "../mailing/ReportSending.ts"
import type { SealedColumn } from "../store/SecretKeys.ts"
import { sealedSuggestionSetups } from "../suggestions/SuggestionSetups.ts"
import { sealedSuppressionKeys } from "../suppressions/AddressKeys.ts"
import { sealedEndpoints } from "../webhooks/WebhookEndpoints.ts"

/** All columns with encrypted values. */
export const sealedColumns: ReadonlyArray<SealedColumn> = [
  sealedBuckets,
  sealedConnections,
  sealedDkimKeys,
  sealedEndpoints,
  sealedMails,
  sealedReports,
  sealedSecondFactors,
  sealedSources,
  sealedSuggestionSetups,
  sealedSuppressionKeys,
]
