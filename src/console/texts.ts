// All words of the console, for translators: this file has those of the frame and the parts, and texts/ those of each page. A page
// uses its own section, and no other file contains words. The terms are those of the command line and the docs. A sentence with a
// figure in it is a function.

import type { OperationName } from '../contract/operations'
import { language, named, numberText, shareText, type Translated } from './language'
import { accounts } from './texts/accounts'
import { activity } from './texts/activity'
import { allow } from './texts/allow'
import { connect } from './texts/connect'
import { explore } from './texts/explore'
import { home } from './texts/home'
import { keys } from './texts/keys'
import { models } from './texts/models'
import { overview } from './texts/overview'
import { ownModels } from './texts/own-models'
import { playground } from './texts/playground'
import { requests } from './texts/requests'
import { results } from './texts/results'
import { codes } from './texts/selling/codes'
import { events } from './texts/selling/events'
import { plans } from './texts/selling/plans'
import { reconciliation } from './texts/selling/reconciliation'
import { retention } from './texts/selling/retention'
import { sessions } from './texts/selling/sessions'
import { statements } from './texts/selling/statements'
import { settings } from './texts/settings'
import { spend } from './texts/spend'
import { spenders } from './texts/spenders'
import { tasks } from './texts/tasks'
import { upstreams } from './texts/upstreams'
import { usage } from './texts/usage'
import { shortTimeText, spanText } from './zone'

export const frame = {
  product: 'Gateway',
  sandbox: 'sandbox',
  sandboxMeans: 'Vendors are simulated: no real money and no real answers.',
  skip: 'Skip to the page',
  pages: 'Pages',
  page: 'page',
  hitKinds: {
    account: 'account',
    key: 'key',
    model: 'model',
    upstream: 'upstream',
    request: 'request',
    task: 'task',
  },
  more: 'More',
  search: 'Search or jump to…',
  palette: {
    keys: 'Ctrl K',
    action: 'action',
    theme: (name: string) => `Theme: ${name}`,
    language: (name: string) => `Language: ${name}`,
    docs: 'API documentation',
    failed: 'Requests that failed',
    reload: 'Reload the configuration',
    backUp: 'Make a backup',
    pause: 'Pause',
    resume: 'Resume',
    revoke: 'Revoke',
    topUp: 'Top up',
    freeze: 'Freeze',
  },
  views: {
    title: 'Views',
    none: 'A view saves the filters and time range of this page under a name, in this browser.',
    name: 'Name of this view',
    save: 'Save this view',
    remove: (name: string) => `Remove the view ${name}`,
    kind: 'view',
  },
  range: 'Time range',
  ranges: named({ '1h': '1 hour', '24h': '24 hours', '7d': '7 days', '30d': '30 days', '90d': '90 days' }),
  timeControl: {
    thisMonth: 'This month (UTC)',
    lastMonth: 'Last month (UTC)',
    choose: 'From – to…',
    title: 'Time range',
    from: 'From',
    to: 'To',
    zone: (name: string) => `In the time zone ${name}. Empty: up to now.`,
    show: 'Show',
    wrongOrder: 'The range must end after it begins.',
    reset: 'Back to 24 hours',
    compare: 'Compare with',
    comparisons: { before: 'vs previous period', year: 'vs a year earlier', none: 'no comparison' },
    timesIn: {
      local: (name: string) => `Times are in ${name}. Show them in UTC`,
      utc: (name: string) => `Times are in UTC. Show them in ${name}`,
    },
    zones: { local: 'Times: local', utc: 'Times: UTC' },
    fromTo: (since: string, until: string | null) =>
      `${shortTimeText(new Date(since))} – ${until === null ? 'now' : shortTimeText(new Date(until))}`,
  },
  theme: 'Theme',
  language: 'Language',
  themes: { auto: 'Auto', light: 'Light', dark: 'Dark' },
  signOut: 'Sign out',
  noPages: 'There is no page for this session.',
  notAnswering: 'The gateway is not answering. Check that it is running and that you are online.',
  answeredWith: (status: number) => `The gateway answered with the status ${status}.`,
  notReached: 'The gateway is not answering. Load the page again when it is running.',
  loading: 'Loading',
  tryAgain: 'Try again',
  now: 'now',
  all: 'All',
  filters: 'Filters',
  clearFilters: 'Clear',
  showMore: 'Show more',
  showNews: 'Show new rows',
  noneSoFar: 'None so far: not all rows have been searched.',
  lookFurther: 'Keep searching',
  rowsInAll: (rows: number) => (rows === 1 ? '1 row' : `${numberText(rows)} rows`),
  rowsOf: (shown: number, all: number) => `${numberText(shown)} of ${numberText(all)} rows`,
  furtherColumns: 'More columns',
  close: 'Close',
  cancel: 'Cancel',
  goBack: 'Go back',
  save: 'Save',
  saved: 'Saved',
  copy: 'Copy',
  copied: 'Copied',
  download: 'Download',
  unsavedSecret: 'The secret is not saved',
  unsavedSecretMeans: 'It is not shown again. Download it, or go back and copy it.',
  downloadAndLeave: 'Download and leave',
  leaveWithoutSecret: 'Leave without it',
  stay: 'Stay',
  shownOnce: 'is shown only now. Store it safely.',
  typeTheName: (name: string) => `Type ${name} to confirm`,
  nothing: 'nothing',
  nothingYet: 'Nothing in this time range.',
  asTable: 'Figures as a table',
  showSeries: 'Show in the chart',
  hideSeries: 'Hide from the chart',
  comparedWith: { before: 'previous period', year: 'same period a year earlier', none: '' },
  span: spanText,
  keysHelpTitle: 'Keyboard shortcuts',
  keysHelp: [
    ['Ctrl+K or /', 'Search, jump or act'],
    ['j', 'Next row'],
    ['k', 'Previous row'],
    ['Enter', 'Open the row'],
    ['Esc', 'Close the panel'],
    ['?', 'Keyboard shortcuts'],
  ] as readonly (readonly [keys: string, what: string])[],
  states: named({
    ready: 'ready',
    unavailable: 'not available',
    submitted: 'running',
    down: 'down',
  }),
  operations: named({
    chat: 'chat',
    messages: 'messages',
    responses: 'responses',
    contents: 'contents',
    completions: 'completions',
    moderation: 'moderation',
    embeddings: 'embeddings',
    rerank: 'reranking',
    speech: 'speech',
    transcription: 'transcription',
    translation: 'translation',
    image: 'images',
    'image-edit': 'image edits',
    video: 'video',
  } satisfies Record<OperationName, string>),
  state: 'State',
  time: 'Time',
  total: 'Total',
  each: (period: string) => (period === '' ? '' : `per ${period}`),
  /** A share of a total, as `0.4 %`; empty if the total is zero. */
  share: shareText,
  signIn: {
    title: 'Gateway',
    intro: 'Sign in with an admin token as an operator, or with a key to see its account.',
    token: 'Token or key',
    hint: 'adm-… or sk-…',
    action: 'Sign in',
    by: (title: string) => `Sign in with ${title}`,
    fault: 'The sign-in was not completed. Start again.',
    faults: named({
      not_a_member: 'None of your groups may use this gateway. Ask its operator.',
      sign_in_not_here: 'You may sign in to this gateway, but not at this address. Ask its operator.',
      issuer_unavailable: 'The identity provider is not answering. Try again in a moment.',
      too_many_attempts: 'Too many attempts. Try again in a minute.',
    }),
    link: 'No token? On the machine of the gateway, create a link that works once:',
    command: 'gateway console',
  },
}

const english = {
  texts: {
    ...frame,
    allow,
    overview,
    accounts,
    keys,
    spenders,
    explore,
    requests,
    usage,
    tasks,
    results,
    models,
    upstreams,
    settings,
    spend,
  },
  sellingTexts: { plans, codes, statements, reconciliation, retention, events, sessions },
  keyTexts: { home, activity, models: ownModels, connect, playground },
}

/** The form of all texts: a language that lacks one does not compile. */
export type Texts = Translated<typeof english>

async function ownTexts(): Promise<Texts> {
  if (language === 'en') return english
  try {
    return (await import('./texts/german')).german
  } catch {
    // If its own words cannot be loaded, the page shows the English ones.
    return english
  }
}

export const { texts, sellingTexts, keyTexts } = await ownTexts()
