// Start of the console: it asks who is signed in, and shows the sign-in or the frame with the page of the address. Structure:
// `pages.ts` lists the pages, `pages/` has a file for each, `parts/` their components, `api.ts` all requests to the gateway,
// `address.ts` the state, `texts.ts` all words, `app.css` and `styles/` the look.

import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { address, clock } from './address'
import { comeBack, kindBefore, readSession, session, signIn } from './api'
import { Frame } from './frame'
import { language } from './language'
import { pageOf } from './pages'
import { Allow } from './pages/allow'
import { SignIn } from './sign-in'
import { texts } from './texts'
import './theme'
import './browser-language'

/** How often figures up to now are requested again while the page is visible, in milliseconds. */
const CLOCK_MS = 60_000
/** The page that a program sends people to. It has nothing else that could be clicked by mistake. */
const ALLOW_PAGE = 'allow'

/**
 * A one-time link: `#link=…`, or the return from an identity provider: `#signed-in=…`. Both are removed from the address at once,
 * so that they are in no history.
 */
async function enter(): Promise<void> {
  const [, result] = /^#signed-in=([\w-]+)$/.exec(location.hash) ?? []
  if (result !== undefined) return comeBack(result)
  const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? []
  if (link === undefined) return readSession()
  history.replaceState(null, '', location.pathname)
  await signIn({ link }).catch(() => readSession())
}

function Console() {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) clock.value = Date.now()
    }, CLOCK_MS)
    const wake = () => {
      if (!document.hidden) clock.value = Date.now()
    }
    document.addEventListener('visibilitychange', wake)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', wake)
    }
  }, [])
  if (!session.value) return <SignIn />
  if (address.value.page === ALLOW_PAGE) return <Allow />
  return <Frame key={session.value.name} page={address.value.page} />
}

document.documentElement.lang = language
const place = document.getElementById('console')
if (!place) throw new Error('the page has no place for the console')
// The page is loaded while it asks who is signed in, and the document itself stays visible until that is known.
const kind = kindBefore()
if (kind)
  pageOf(kind, address.value.page)
    ?.load()
    .catch(() => {})
enter().then(
  () => {
    place.replaceChildren()
    render(<Console />, place)
  },
  () => {
    place.textContent = texts.notReached
  },
)
