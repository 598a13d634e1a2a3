// The pages of the console, in the order of the side bar. A page is a file in pages/ that exports one component; it is loaded when
// it is first opened. To add one, write its file, and add a row here and its title to texts.ts.

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
  load(): Promise<{ default: FunctionComponent }>
}

export const pages: readonly ConsolePage[] = [
  {
    name: 'overview',
    title: texts.overview.title,
    icon: 'overview',
    kind: 'admin',
    letter: 'o',
    isMain: true,
    load: () => import('./pages/overview'),
  },
  {
    name: 'accounts',
    title: texts.accounts.title,
    icon: 'accounts',
    kind: 'admin',
    letter: 'a',
    isMain: true,
    load: () => import('./pages/accounts'),
  },
  {
    name: 'keys',
    title: texts.keys.title,
    icon: 'keys',
    kind: 'admin',
    letter: 'k',
    load: () => import('./pages/keys'),
  },
  {
    name: 'plans',
    title: sellingTexts.plans.title,
    icon: 'plans',
    kind: 'admin',
    letter: 'l',
    load: () => import('./pages/plans'),
  },
  {
    name: 'codes',
    title: sellingTexts.codes.title,
    icon: 'codes',
    kind: 'admin',
    letter: 'c',
    load: () => import('./selling/codes'),
  },
  {
    name: 'requests',
    title: texts.requests.title,
    icon: 'requests',
    kind: 'admin',
    letter: 'r',
    isMain: true,
    load: () => import('./pages/requests'),
  },
  {
    name: 'usage',
    title: texts.usage.title,
    icon: 'usage',
    kind: 'admin',
    letter: 'u',
    load: () => import('./pages/usage'),
  },
  {
    name: 'statements',
    title: sellingTexts.statements.title,
    icon: 'statements',
    kind: 'admin',
    letter: 'e',
    load: () => import('./pages/statements'),
  },
  {
    name: 'tasks',
    title: texts.tasks.title,
    icon: 'tasks',
    kind: 'admin',
    letter: 't',
    isMain: true,
    load: () => import('./pages/tasks'),
  },
  {
    name: 'models',
    title: texts.models.title,
    icon: 'models',
    kind: 'admin',
    letter: 'm',
    load: () => import('./pages/models'),
  },
  {
    name: 'upstreams',
    title: texts.upstreams.title,
    icon: 'upstreams',
    kind: 'admin',
    letter: 'p',
    load: () => import('./pages/upstreams'),
  },
  {
    name: 'playground',
    title: keyTexts.playground.title,
    icon: 'playground',
    kind: 'admin',
    letter: 'y',
    load: () => import('./pages/operator-playground'),
  },
  {
    name: 'settings',
    title: texts.settings.title,
    icon: 'settings',
    kind: 'admin',
    letter: 's',
    load: () => import('./pages/settings'),
  },
  {
    name: 'home',
    title: keyTexts.home.title,
    icon: 'home',
    kind: 'key',
    letter: 'h',
    isMain: true,
    load: () => import('./pages/home'),
  },
  {
    name: 'activity',
    title: keyTexts.activity.requests,
    icon: 'requests',
    kind: 'key',
    letter: 'r',
    isMain: true,
    load: () => import('./pages/activity'),
  },
  {
    name: 'models',
    title: keyTexts.models.title,
    icon: 'models',
    kind: 'key',
    letter: 'm',
    isMain: true,
    load: () => import('./pages/own-models'),
  },
  {
    name: 'playground',
    title: keyTexts.playground.title,
    icon: 'playground',
    kind: 'key',
    letter: 'p',
    isMain: true,
    load: () => import('./pages/playground'),
  },
  {
    name: 'statements',
    title: sellingTexts.statements.title,
    icon: 'statements',
    kind: 'key',
    letter: 'e',
    load: () => import('./selling/own-statements'),
  },
  {
    name: 'connect',
    title: keyTexts.connect.title,
    icon: 'connect',
    kind: 'key',
    letter: 'c',
    load: () => import('./pages/connect'),
  },
]

/** The page with a name for the signed-in user; their first page for an unknown name. */
export function pageOf(kind: ConsolePage['kind'], name: string): ConsolePage | undefined {
  const own = pages.filter((page) => page.kind === kind)
  return own.find((page) => page.name === name) ?? own[0]
}
