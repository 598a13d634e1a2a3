// Chooses the language of the console. Its names are those that its readers know.

import { keepLanguage, LANGUAGES, type Language, language } from '../language'
import { Icon } from '../parts/icon'
import { texts } from '../texts'

/** Keeps a language in this browser, and loads the page again in it. */
export function chooseLanguage(chosen: Language): void {
  keepLanguage(chosen)
  location.reload()
}

export function LanguageChoice() {
  return (
    <label class="language-choice">
      <Icon name="language" />
      <span class="hidden">{texts.language}</span>
      <select value={language} onChange={(event) => chooseLanguage(event.currentTarget.value as Language)}>
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option value={code} lang={code} key={code}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
