// Chooses the language of the console. Languages have the names that their readers use.

import { keepLanguage, LANGUAGES, type Language, language } from '../language'
import { Icon } from '../parts/icon'
import { texts } from '../texts'

/** Stores a language in this browser, and reloads the page in it. */
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
