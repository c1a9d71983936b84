#include "cli/completion_script.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace lra {
namespace {

// The value of flags whose words are not known: numbers, paths, free text.
constexpr char kAnyValue[] = "ANY";

constexpr char kHead[] =
    "# Completes lra's subcommands, flags and values. Made by `lra completion`, from the program's "
    "own help.\n\n";

// `_lra_complete lra data p` sets _lra_found to what may replace the last word. It runs in bash and
// in zsh alike.
constexpr char kSearch[] = R"sh(
_lra_complete() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L ksh; fi
  local path=lra value= given=0 prefix= word entry field
  shift
  while [ $# -gt 1 ]; do
    word=$1
    shift
    if [ -n "$value" ]; then value=; continue; fi
    _lra_entries "$path"
    case $word in
      -*) for entry in $_lra_line; do case $entry in "$word="*) value=${entry#*=} ;; esac; done ;;
      *) case " $_lra_line " in *" $word "*) path="$path $word" ;; *) given=$((given + 1)) ;; esac ;;
    esac
  done
  _lra_found=()
  _lra_entries "$path"
  word=$1
  if [ -z "$value" ]; then
    case $word in
      --*=*)
        for entry in $_lra_line; do case $entry in "${word%%=*}="*) value=${entry#*=} ;; esac; done
        prefix=${word%%=*}= word=${word#*=} ;;
      -*)
        for entry in $_lra_line; do
          case $entry in -*) _lra_add "$word" "${entry%%=*}" ;; esac
        done
        return 0 ;;
      *)
        for entry in $_lra_line; do
          case $entry in
            -*) ;;
            :*) if [ "$given" -eq 0 ]; then value=${entry#:}; fi; given=$((given - 1)) ;;
            *) _lra_add "$word" "$entry" ;;
          esac
        done ;;
    esac
  fi
  if [ -z "$value" ]; then return 0; fi
  # In a list, the name after the last comma.
  case "$value $word" in
    *=VALUE\ *) ;;
    *\ *,*) prefix=$prefix${word%,*}, word=${word##*,} ;;
  esac
  _lra_words "$value"
  for entry in $_lra_line; do
    case $value in
      *=VALUE)
        field=${entry%%=*}
        case $word in
          "$field="*)
            entry=${entry#*=}
            while [ -n "$entry" ]; do
              _lra_add "$prefix$word" "$prefix$field=${entry%%"|"*}"
              case $entry in *"|"*) entry=${entry#*|} ;; *) entry= ;; esac
            done ;;
          *) _lra_add "$prefix$word" "$prefix$field=" ;;
        esac ;;
      *) _lra_add "$prefix$word" "$prefix$entry" ;;
    esac
  done
}
_lra_add() {
  case $2 in "$1"*) _lra_found+=("$2") ;; esac
}
)sh";

// Bash cuts words at "=" and ":" too, and replaces only what follows the cut ($2).
constexpr char kBash[] = R"sh(
_lra() {
  local line=${COMP_LINE:0:COMP_POINT} words i cut
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=("") ;; esac
  _lra_complete "${words[@]}"
  cut=${words[${#words[@]} - 1]}
  cut=${cut%"$2"}
  COMPREPLY=()
  for i in "${!_lra_found[@]}"; do COMPREPLY+=("${_lra_found[i]#"$cut"}"); done
  case ${_lra_found[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _lra lra
)sh";

constexpr char kZsh[] = R"sh(
_lra() {
  local -a _lra_found
  _lra_complete "${(@)words[1,CURRENT]}"
  if (( ! ${#_lra_found} )); then
    _files
  elif [[ ${_lra_found[1]} == *= ]]; then
    compadd -S '' -- "${_lra_found[@]}"
  else
    compadd -- "${_lra_found[@]}"
  fi
}
compdef _lra lra
)sh";

// --- Tables ---

// The words behind a flag's value: those of the table, or the alternatives of "md|csv".
std::vector<std::string> WordsOf(const std::string& value, const ValueWords& words) {
  if (const auto known = words.find(value); known != words.end()) return known->second;
  if (absl::StrContains(value, '|')) return absl::StrSplit(value, '|');
  return {};
}

// Also the name of the value in the tables, where it may have no blanks.
std::string TableValue(const std::string& value, const ValueWords& words) {
  return WordsOf(value, words).empty() ? kAnyValue : value;
}

// What may follow a command, in one line: subcommands, ":VALUE" for each positional argument,
// "--switch" and "--flag=VALUE".
std::string Entries(const CommandFacts& command, const ValueWords& words) {
  std::vector<std::string> entries;
  for (const CommandFacts& below : command.commands)
    entries.emplace_back(below.path.substr(command.path.size() + 1));
  for (const FlagFacts& flag : command.flags) {
    const std::string value = TableValue(flag.value, words);
    if (flag.is_positional) {
      entries.push_back(absl::StrCat(":", value));
    } else {
      entries.push_back(flag.value.empty() ? flag.name : absl::StrCat(flag.name, "=", value));
    }
  }
  return absl::StrJoin(entries, " ");
}

void AddEntries(const CommandFacts& command, const ValueWords& words, std::string* table) {
  absl::StrAppend(table, "    \"", command.path, "\") _lra_line='", Entries(command, words),
                  "' ;;\n");
  for (const CommandFacts& below : command.commands) AddEntries(below, words, table);
}

// Every value that flags have and whose words are known.
void CollectValues(const CommandFacts& command, const ValueWords& words,
                   std::set<std::string>* values) {
  for (const FlagFacts& flag : command.flags) {
    if (!WordsOf(flag.value, words).empty()) values->insert(flag.value);
  }
  for (const CommandFacts& below : command.commands) CollectValues(below, words, values);
}

std::string Function(const std::string& name, const std::string& cases) {
  return absl::StrCat(name, "() {\n  case $1 in\n", cases, "    *) _lra_line= ;;\n  esac\n}\n");
}

std::string Tables(const CommandFacts& program, const ValueWords& words) {
  std::string entries, values;
  AddEntries(program, words, &entries);
  std::set<std::string> used;
  CollectValues(program, words, &used);
  for (const std::string& value : used) {
    absl::StrAppend(&values, "    \"", value, "\") _lra_line='",
                    absl::StrJoin(WordsOf(value, words), " "), "' ;;\n");
  }
  return Function("_lra_entries", entries) + Function("_lra_words", values);
}

// --- fish ---

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// "train.steps=" stays; "model.pooling=MEAN|CLS" becomes a word for each.
std::vector<std::string> FishWords(const std::string& value, const ValueWords& words) {
  std::vector<std::string> spelt;
  for (const std::string& word : WordsOf(value, words)) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (parts.size() == 1) {
      spelt.push_back(word);
      continue;
    }
    for (const absl::string_view choice : absl::StrSplit(parts[1], '|'))
      spelt.push_back(absl::StrCat(parts[0], "=", choice));
  }
  return spelt;
}

// " -x -a 'words'", or that a file may follow.
std::string FishValue(const std::string& value, const ValueWords& words) {
  const std::vector<std::string> spelt = FishWords(value, words);
  if (spelt.empty()) return " -r -F";
  return absl::StrCat(" -x -a ", FishQuoted(absl::StrJoin(spelt, " ")));
}

void AddFish(const CommandFacts& command, const ValueWords& words, std::string* script) {
  const std::string at =
      absl::StrCat("complete -c lra -n ", FishQuoted(absl::StrCat("__lra_at ", command.path)));
  for (const CommandFacts& below : command.commands) {
    absl::StrAppend(script, at, " -f -a ", below.path.substr(command.path.size() + 1), " -d ",
                    FishQuoted(below.description), "\n");
  }
  for (const FlagFacts& flag : command.flags) {
    if (flag.is_positional) {
      const std::vector<std::string> spelt = FishWords(flag.value, words);
      if (!spelt.empty())
        absl::StrAppend(script, at, " -a ", FishQuoted(absl::StrJoin(spelt, " ")), "\n");
      continue;
    }
    const bool is_long = absl::StartsWith(flag.name, "--");
    absl::StrAppend(script, at, is_long ? " -l " : " -s ", flag.name.substr(is_long ? 2 : 1),
                    flag.value.empty() ? "" : FishValue(flag.value, words), " -d ",
                    FishQuoted(flag.text), "\n");
  }
  for (const CommandFacts& below : command.commands) AddFish(below, words, script);
}

void CollectPaths(const CommandFacts& command, std::vector<std::string>* paths) {
  paths->push_back(FishQuoted(command.path));
  for (const CommandFacts& below : command.commands) CollectPaths(below, paths);
}

// True where the words so far lead to the command that is given.
constexpr char kFishAt[] = R"sh(function __lra_at
  set -l path lra
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" $__lra_paths
      set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
)sh";

}  // namespace

std::string BashCompletion(const CommandFacts& program, const ValueWords& words) {
  return absl::StrCat(kHead, Tables(program, words), kSearch, kBash);
}

std::string ZshCompletion(const CommandFacts& program, const ValueWords& words) {
  return absl::StrCat("#compdef lra\n", kHead, Tables(program, words), kSearch, kZsh);
}

std::string FishCompletion(const CommandFacts& program, const ValueWords& words) {
  std::vector<std::string> paths;
  CollectPaths(program, &paths);
  std::string script =
      absl::StrCat(kHead, "set -g __lra_paths ", absl::StrJoin(paths, " "), "\n", kFishAt);
  AddFish(program, words, &script);
  return script;
}

}  // namespace lra
