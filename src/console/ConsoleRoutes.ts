import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { acceptedLanguage, CurrentLanguage } from "../languages/Language.ts"
import * as Assets from "./Assets.ts"
import * as AccountPages from "./pages/AccountPages.tsx"
import * as AuditPages from "./pages/AuditPages.tsx"
import * as ForgotPages from "./pages/ForgotPages.tsx"
import * as FindPages from "./pages/FindPages.tsx"
import * as KeyPages from "./pages/KeyPages.tsx"
import * as MemberPages from "./pages/MemberPages.tsx"
import * as NotificationPages from "./pages/NotificationPages.tsx"
import * as NotFoundPages from "./pages/NotFoundPages.tsx"
import * as DeliveryPages from "./pages/delivery/DeliveryPages.tsx"
import * as OrganizationPages from "./pages/OrganizationPages.tsx"
import * as OverviewPage from "./pages/OverviewPage.tsx"
import * as GroupPages from "./pages/GroupPages.tsx"
import * as PasskeyPages from "./pages/PasskeyPages.tsx"
import * as PasskeySignInPages from "./pages/PasskeySignInPages.tsx"
import * as SecondFactorPages from "./pages/SecondFactorPages.tsx"
import * as SettingsPages from "./pages/SettingsPages.tsx"
import * as BucketPages from "./pages/BucketPages.tsx"
import * as SuggestionSettingsPages from "./pages/SuggestionSettingsPages.tsx"
import * as SignedInPages from "./pages/SignedInPages.tsx"
import * as SignInCodePages from "./pages/SignInCodePages.tsx"
import * as OpenIdPages from "./pages/OpenIdPages.ts"
import * as SignInPages from "./pages/SignInPages.tsx"
import * as TestGroupPages from "./pages/TestGroupPages.tsx"
import * as TrackingKeyPages from "./pages/TrackingKeyPages.tsx"
import * as PeoplePages from "./pages/people/PeoplePages.tsx"
import * as SuppressionPages from "./pages/people/SuppressionPages.tsx"
import * as CalendarPages from "./pages/calendar/CalendarPages.tsx"
import * as ReportPages from "./pages/results/ReportPages.tsx"
import * as ResultsPages from "./pages/results/ResultsPages.tsx"
import * as SendTimePages from "./pages/results/SendTimePages.tsx"
import * as SwitchPages from "./pages/results/SwitchPages.tsx"
import * as SandboxPages from "./pages/sandbox/SandboxPages.tsx"
import * as SourcePages from "./pages/sources/SourcePages.tsx"
import * as ExplorePages from "./pages/results/ExplorePages.tsx"
import * as SharePages from "./pages/results/SharePages.tsx"
import * as SharedPages from "./pages/results/SharedPages.tsx"
import * as ImagePages from "./pages/images/ImagePages.tsx"
import * as SnippetPages from "./pages/snippets/SnippetPages.tsx"
import * as SnippetPreview from "./pages/snippets/SnippetPreview.tsx"
import * as SnippetReviewPages from "./pages/snippets/SnippetReviewPages.tsx"
import * as CommentPages from "./pages/team/CommentPages.tsx"
import * as ReviewPages from "./pages/team/ReviewPages.tsx"
import * as TemplatesPages from "./pages/templates/TemplatesPages.ts"
import * as EndpointPages from "./pages/webhooks/EndpointPages.tsx"
import * as ViewPages from "./pages/ViewPages.tsx"
import { RawRoutes } from "./RawRoutes.tsx"
import { Console } from "./Routes.tsx"

/** The language that the browser asks for. */
const inLanguage = HttpRouter.middleware((answer) =>
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    ({ headers }) => Effect.provideService(answer, CurrentLanguage, acceptedLanguage(headers["accept-language"])),
  )
)

/** Every page of the console. New ones are added here and to Navigation.ts. */
export const layer = Layer.mergeAll(
  Assets.layer,
  OpenIdPages.layer,
  SignInPages.layer,
  SignInCodePages.layer,
  SignedInPages.layer,
  ForgotPages.layer,
  SecondFactorPages.layer,
  PasskeyPages.layer,
  PasskeySignInPages.layer,
  OrganizationPages.layer,
  SettingsPages.layer,
  SuggestionSettingsPages.layer,
  BucketPages.layer,
  OverviewPage.layer,
  FindPages.layer,
  KeyPages.layer,
  MemberPages.layer,
  GroupPages.layer,
  TestGroupPages.layer,
  TrackingKeyPages.layer,
  AccountPages.layer,
  AuditPages.layer,
  ViewPages.layer,
  NotificationPages.layer,
  TemplatesPages.layer,
  ImagePages.layer,
  SnippetPages.layer,
  SnippetPreview.layer,
  SnippetReviewPages.layer,
  ReviewPages.layer,
  CommentPages.layer,
  SharePages.layer,
  ExplorePages.layer,
  SharedPages.layer,
  CalendarPages.layer,
  ReportPages.layer,
  ResultsPages.layer,
  SendTimePages.layer,
  SwitchPages.layer,
  SourcePages.layer,
  EndpointPages.layer,
  DeliveryPages.layer,
  PeoplePages.layer,
  SuppressionPages.layer,
  SandboxPages.layer,
  NotFoundPages.layer,
).pipe(Layer.provide(RawRoutes.layer), Layer.provide(Console.layer), Layer.provide(inLanguage.layer))
