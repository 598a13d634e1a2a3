// The pages of the console, in the order of the side bar. A page is a file in pages/ that exports one component. The first page and
// the playground are scripts of their own; the others are loaded together when one of them is opened. To add one, write its file, and
// add it to its script, a row here and its title to texts.ts.

import type { FunctionComponent } from 'preact'
import type { IconName } from './parts/icon'
import { keyTexts, sellingTexts, texts } from './texts'

export interface ConsolePage {
  /** The name in the address. */
  name: string
  title: string
  icon: IconName
  /** The users for whom the page is. */
  kind: 'admin' | 'key'
  /** The letter that opens it after `g`. */
  letter: string
  /** Whether it is in the bar of a narrow screen; the others are under `More`. */
  isMain?: boolean
  load(): Promise<FunctionComponent>
}

const alone = (script: Promise<{ default: FunctionComponent }>) => script.then((page) => page.default)
const ofOperators = (name: keyof typeof import('./pages/operator-pages')) => async () =>
  (await import('./pages/operator-pages'))[name]
const ofKeys = (name: keyof typeof import('./pages/key-pages')) => async () =>
  (await import('./pages/key-pages'))[name]

export const pages: readonly ConsolePage[] = [
  {
    name: 'overview',
    title: texts.overview.title,
    icon: 'overview',
    kind: 'admin',
    letter: 'o',
    isMain: true,
    load: () => alone(import('./pages/overview')),
  },
  {
    name: 'accounts',
    title: texts.accounts.title,
    icon: 'accounts',
    kind: 'admin',
    letter: 'a',
    isMain: true,
    load: ofOperators('accounts'),
  },
  {
    name: 'keys',
    title: texts.keys.title,
    icon: 'keys',
    kind: 'admin',
    letter: 'k',
    load: ofOperators('keys'),
  },
  {
    name: 'plans',
    title: sellingTexts.plans.title,
    icon: 'plans',
    kind: 'admin',
    letter: 'l',
    load: ofOperators('plans'),
  },
  {
    name: 'codes',
    title: sellingTexts.codes.title,
    icon: 'codes',
    kind: 'admin',
    letter: 'c',
    load: ofOperators('codes'),
  },
  {
    name: 'requests',
    title: texts.requests.title,
    icon: 'requests',
    kind: 'admin',
    letter: 'r',
    isMain: true,
    load: ofOperators('requests'),
  },
  {
    name: 'usage',
    title: texts.usage.title,
    icon: 'usage',
    kind: 'admin',
    letter: 'u',
    load: ofOperators('usage'),
  },
  {
    name: 'statements',
    title: sellingTexts.statements.title,
    icon: 'statements',
    kind: 'admin',
    letter: 'e',
    load: ofOperators('statements'),
  },
  {
    name: 'tasks',
    title: texts.tasks.title,
    icon: 'tasks',
    kind: 'admin',
    letter: 't',
    isMain: true,
    load: ofOperators('tasks'),
  },
  {
    name: 'models',
    title: texts.models.title,
    icon: 'models',
    kind: 'admin',
    letter: 'm',
    load: ofOperators('models'),
  },
  {
    name: 'upstreams',
    title: texts.upstreams.title,
    icon: 'upstreams',
    kind: 'admin',
    letter: 'p',
    load: ofOperators('upstreams'),
  },
  {
    name: 'playground',
    title: keyTexts.playground.title,
    icon: 'playground',
    kind: 'admin',
    letter: 'y',
    load: () => alone(import('./pages/operator-playground')),
  },
  {
    name: 'settings',
    title: texts.settings.title,
    icon: 'settings',
    kind: 'admin',
    letter: 's',
    load: ofOperators('settings'),
  },
  {
    name: 'home',
    title: keyTexts.home.title,
    icon: 'home',
    kind: 'key',
    letter: 'h',
    isMain: true,
    load: () => alone(import('./pages/home')),
  },
  {
    name: 'activity',
    title: keyTexts.activity.requests,
    icon: 'requests',
    kind: 'key',
    letter: 'r',
    isMain: true,
    load: ofKeys('activity'),
  },
  {
    name: 'models',
    title: keyTexts.models.title,
    icon: 'models',
    kind: 'key',
    letter: 'm',
    isMain: true,
    load: ofKeys('models'),
  },
  {
    name: 'playground',
    title: keyTexts.playground.title,
    icon: 'playground',
    kind: 'key',
    letter: 'p',
    isMain: true,
    load: () => alone(import('./pages/playground')),
  },
  {
    name: 'statements',
    title: sellingTexts.statements.title,
    icon: 'statements',
    kind: 'key',
    letter: 'e',
    load: ofKeys('statements'),
  },
  {
    name: 'connect',
    title: keyTexts.connect.title,
    icon: 'connect',
    kind: 'key',
    letter: 'c',
    load: ofKeys('connect'),
  },
]

/** The page with a name for the signed-in user; their first page for an unknown name. */
export function pageOf(kind: ConsolePage['kind'], name: string): ConsolePage | undefined {
  const own = pages.filter((page) => page.kind === kind)
  return own.find((page) => page.name === name) ?? own[0]
}
