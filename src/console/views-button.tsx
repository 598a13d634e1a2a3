// The button that saves the page as a view, and lists the saved views.

import { signal } from '@preact/signals'
import { address, go } from './address'
import { Dialog, Field, Form } from './parts/form'
import { Icon } from './parts/icon'
import { removeView, savedViews, saveView } from './saved-views'
import { texts } from './texts'

const words = texts.views

/** Whether the list of views is open: the palette opens it too. */
export const areViewsOpen = signal(false)

export function ViewsButton() {
  const close = () => {
    areViewsOpen.value = false
  }
  return (
    <>
      <button
        type="button"
        class="plain views"
        title={words.title}
        aria-label={words.title}
        onClick={() => {
          areViewsOpen.value = true
        }}
      >
        <Icon name="view" /> <span>{address.value.query.view}</span>
      </button>
      {areViewsOpen.value && <Views close={close} />}
    </>
  )
}

function Views({ close }: { close(): void }) {
  const views = savedViews()
  return (
    <Dialog title={words.title} close={close} closing={texts.close}>
      {views.length === 0 && <p class="quiet">{words.none}</p>}
      <ul class="saved-views">
        {views.map(({ name, href }) => (
          <li key={name}>
            <a href={href} onClick={close}>
              {name}
            </a>
            <button
              type="button"
              class="plain"
              aria-label={words.remove(name)}
              title={words.remove(name)}
              onClick={() => removeView(name)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <Form
        action={words.save}
        submit={async ({ name = '' }) => go(saveView(name.slice(0, MAX_LETTERS)))}
        onDone={close}
      >
        <Field name="name" title={words.name} value={address.value.query.view ?? ''} isRequired />
      </Form>
    </Dialog>
  )
}

/** Maximum length of a name, in characters. */
const MAX_LETTERS = 60
