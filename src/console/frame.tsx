// The frame around every page: header with search, time range and theme, side bar, and keyboard shortcuts. Pages are loaded when
// they are first opened.

import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { FIRST_PAGE, hrefOf, leaveTo } from './address'
import { ApiError, session, signOut, urlOf } from './api'
import { useKeyboard } from './keyboard'
import { type ConsolePage, pageOf, pages } from './pages'
import { LanguageChoice } from './palette/language-choice'
import { Palette } from './palette/palette'
import { Dialog } from './parts/form'
import { Icon } from './parts/icon'
import { Failed, Waiting } from './parts/loaded'
import { SandboxBadge } from './parts/sandbox-badge'
import { SecretGuard } from './parts/secret'
import { texts } from './texts'
import { THEMES, theme } from './theme'
import { TimeControl, ZoneButton } from './time-control'
import { ViewsButton } from './views-button'

/** Pages that were loaded. Operators and holders of keys have pages with the same name. */
const loadedPages = new Map<ConsolePage, FunctionComponent>()

export function Frame({ page: name }: { page: string }) {
  const { kind } = session.value ?? {}
  const own = pages.filter((page) => page.kind === kind)
  const page = kind ? pageOf(kind, name) : undefined
  const [isHelpOpen, setHelpOpen] = useState(false)
  useKeyboard(own, () => setHelpOpen(true))
  const title = page?.title ?? ''
  useEffect(() => {
    document.title = `${title} · ${texts.product}`
  }, [title])
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        {texts.skip}
      </button>
      <Header page={page} />
      <SideBar own={own} current={page?.name ?? FIRST_PAGE} />
      <main id="main" tabIndex={-1} aria-label={title}>
        {page ? (
          <PagePlace page={page} key={`${page.kind} ${page.name}`} />
        ) : (
          <p class="empty">{texts.noPages}</p>
        )}
      </main>
      <SecretGuard />
      {isHelpOpen && <KeysHelp own={own} close={() => setHelpOpen(false)} />}
    </div>
  )
}

function Header({ page }: { page: ConsolePage | undefined }) {
  const { name = '', role } = session.value ?? {}
  return (
    <header class="header">
      <a class="product" href={hrefOf(FIRST_PAGE)}>
        {texts.product}
      </a>
      <SandboxBadge />
      <Palette />
      {page && <TimeControl page={page.name} kind={page.kind} />}
      <ZoneButton />
      <ViewsButton />
      <label>
        <span class="hidden">{texts.theme}</span>
        <select
          value={theme.value}
          onChange={(event) => {
            theme.value = THEMES.find((word) => word === event.currentTarget.value) ?? 'auto'
          }}
        >
          {THEMES.map((word) => (
            <option value={word} key={word}>
              {texts.themes[word]}
            </option>
          ))}
        </select>
      </label>
      <span class="who">
        {name} {role && <span class="quiet">({role})</span>}
      </span>
      <button type="button" class="plain" onClick={() => leaveTo(() => void signOut().catch(() => {}))}>
        {texts.signOut}
      </button>
    </header>
  )
}

function SideBar({ own, current }: { own: readonly ConsolePage[]; current: string }) {
  const [isMoreOpen, setMoreOpen] = useState(false)
  const kind = session.value?.kind
  return (
    <nav class={`side-bar ${isMoreOpen ? 'more-open' : ''}`} aria-label={texts.pages}>
      <ul>
        {own.map(({ name, title, icon, isMain }) => (
          <li key={name} class={isMain ? undefined : 'further-entry'}>
            <a
              href={hrefOf(name)}
              aria-current={name === current ? 'page' : undefined}
              onClick={() => setMoreOpen(false)}
            >
              <Icon name={icon} /> <span>{title}</span>
            </a>
          </li>
        ))}
        <li class="further-entry">
          <a href={urlOf(kind === 'admin' ? 'admin/v1/docs' : 'docs')}>
            <Icon name="statements" /> <span>{texts.palette.docs}</span>
          </a>
        </li>
        <li class="further-entry">
          <LanguageChoice />
        </li>
        <li class="more-entry">
          <button
            type="button"
            class="plain"
            aria-expanded={isMoreOpen}
            onClick={() => setMoreOpen(!isMoreOpen)}
          >
            <Icon name="more" /> <span>{texts.more}</span>
          </button>
        </li>
      </ul>
    </nav>
  )
}

function PagePlace({ page }: { page: ConsolePage }) {
  const [, setTurn] = useState(0)
  const [error, setError] = useState<ApiError>()
  const isGone = useRef(false)
  const load = () => {
    setError(undefined)
    page.load().then(
      (component) => {
        loadedPages.set(page, component)
        if (!isGone.current) setTurn((turn) => turn + 1)
      },
      (fault) => !isGone.current && setError(ApiError.from(fault)),
    )
  }
  useEffect(() => {
    if (!loadedPages.has(page)) load()
    return () => {
      isGone.current = true
    }
  }, [])
  const Page = loadedPages.get(page)
  if (Page) return <Page />
  return (
    <>
      <h1 class="hidden">{page.title}</h1>
      {error ? <Failed error={error} retry={load} /> : <Waiting />}
    </>
  )
}

function KeysHelp({ own, close }: { own: readonly ConsolePage[]; close(): void }) {
  const keys: readonly (readonly [key: string, what: string])[] = [
    ...texts.keysHelp,
    ...own.map(({ letter, title }) => [`g ${letter}`, title] as const),
  ]
  return (
    <Dialog title={texts.keysHelpTitle} close={close} closing={texts.close}>
      <dl class="keys-help">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
