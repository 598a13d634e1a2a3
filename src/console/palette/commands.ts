// What the palette offers by itself: pages, their tabs, and actions. Actions that cost money or cannot be undone open their form,
// which states the consequences; only reversible actions are done at once.

import { go, hrefOf, leaveTo } from '../address'
import { call, hasRole, type Session, signOut, urlOf } from '../api'
import { LANGUAGES, type Language } from '../language'
import { pages } from '../pages'
import { savedViews } from '../saved-views'
import { texts } from '../texts'
import { THEMES, theme } from '../theme'
import { areViewsOpen } from '../views-button'
import { ZONES, zone } from '../zone'
import { chooseLanguage } from './language-choice'
import { settingsParts } from './settings-parts'

export interface Command {
  title: string
  kind: string
  /** The address that it opens. */
  href?: string
  /** Runs before the address is opened. */
  act?(): Promise<unknown>
}

/** A word that begins an action on something that the server finds by its name. */
interface Verb {
  title: string
  of: 'key' | 'account'
  act?(name: string): Promise<unknown>
  href(name: string): string
}

const words = texts.palette

export function commandsFor({ kind }: Pick<Session, 'kind'>): Command[] {
  return [
    ...pages
      .filter((page) => page.kind === kind)
      .map(({ title, name }) => ({ title, kind: texts.page, href: hrefOf(name) })),
    ...savedViews().map(({ name, href }) => ({ title: name, kind: texts.views.kind, href })),
    {
      title: texts.views.save,
      kind: words.action,
      act: async () => {
        areViewsOpen.value = true
      },
    },
    ...(kind === 'admin' ? adminCommands() : []),
    ...THEMES.map((word) => ({
      title: words.theme(texts.themes[word]),
      kind: words.action,
      act: async () => {
        theme.value = word
      },
    })),
    ...ZONES.map((word) => ({
      title: texts.timeControl.zones[word],
      kind: words.action,
      act: async () => {
        zone.value = word
      },
    })),
    ...Object.entries(LANGUAGES).map(([code, name]) => ({
      title: words.language(name),
      kind: words.action,
      act: async () => chooseLanguage(code as Language),
    })),
    {
      title: words.docs,
      kind: words.action,
      act: async () => location.assign(urlOf(kind === 'admin' ? 'admin/v1/docs' : 'docs')),
    },
    {
      title: texts.signOut,
      kind: words.action,
      act: async () => leaveTo(() => void signOut().catch(() => {})),
    },
  ]
}

function adminCommands(): Command[] {
  const settings = texts.settings
  return [
    ...settingsParts().map((part) => ({
      title: `${settings.title}: ${settings.parts[part]}`,
      kind: texts.page,
      href: hrefOf('settings', { part }),
    })),
    {
      title: texts.upstreams.parts.reconciliation,
      kind: texts.page,
      href: hrefOf('upstreams', { part: 'reconciliation' }),
    },
    { title: words.failed, kind: texts.page, href: hrefOf('requests', { status: 'failed' }) },
    ...(hasRole('operator')
      ? [{ title: texts.keys.create, kind: words.action, href: hrefOf('keys', {}, 'new') }]
      : []),
    ...(hasRole('owner')
      ? [
          {
            title: words.reload,
            kind: words.action,
            href: hrefOf('settings', { part: 'configuration' }),
          },
          { title: words.backUp, kind: words.action, href: hrefOf('settings', { part: 'backups' }) },
        ]
      : []),
  ]
}

const verbs: readonly Verb[] = [
  {
    title: words.pause,
    of: 'key',
    act: (key) => call('pauseKey', { params: { key } }),
    href: (name) => hrefOf('keys', {}, name),
  },
  {
    title: words.resume,
    of: 'key',
    act: (key) => call('resumeKey', { params: { key } }),
    href: (name) => hrefOf('keys', {}, name),
  },
  { title: words.revoke, of: 'key', href: (name) => hrefOf('keys', {}, name) },
  { title: words.topUp, of: 'account', href: (name) => hrefOf('accounts', {}, name) },
  { title: words.freeze, of: 'account', href: (name) => hrefOf('accounts', {}, name) },
]

/** The verb that a text begins with, and the rest of the text: the beginning of a name. */
export function verbOf(typed: string): { verb: Verb; name: string } | undefined {
  if (!hasRole('operator')) return undefined
  const text = typed.trimStart().toLowerCase()
  const verb = verbs.find(({ title }) => text.startsWith(`${title.toLowerCase()} `))
  return verb && { verb, name: typed.trimStart().slice(verb.title.length).trim() }
}

export function commandOf({ title, act, href }: Verb, name: string): Command {
  return {
    title: `${title} ${name}`,
    kind: words.action,
    href: href(name),
    ...(act && { act: () => act(name) }),
  }
}

/** Executes a command. Rejects with an ApiError. */
export async function carryOut({ act, href }: Command): Promise<void> {
  await act?.()
  if (href !== undefined) go(href)
}
