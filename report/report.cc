#include "report/report.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "eval/table_html.h"
#include "eval/table_writer.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/sha256.h"
#include "report/ablation_part.h"
#include "report/efficiency_part.h"
#include "report/page_files.h"
#include "report/run_files.h"
#include "report/run_json.h"
#include "report/shown_names.h"
#include "report/thin_curve.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// "runs/a/": the way from the page to the run's folder; empty where that lies elsewhere, because a
// path through other folders would be one of this machine.
std::string LinkTo(const std::string& directory, const std::string& page) {
  if (page.empty()) return "";
  std::error_code error;
  const fs::path home = fs::weakly_canonical(fs::absolute(page, error).parent_path(), error);
  const fs::path link = fs::weakly_canonical(directory, error).lexically_relative(home);
  if (link.empty() || *link.begin() == "..") return "";
  return link.generic_string() + "/";
}

// A row's comparisons with others, which the script shows as differences: [task, a, b, difference,
// low, high, corrected p].
Json ComparisonsJson(const LeaderboardTable& table) {
  Json comparisons = Json::array();
  for (const TableComparison& comparison : table.comparisons) {
    const RowDifference& difference = comparison.difference;
    comparisons.push_back(
        {comparison.task, comparison.a, comparison.b, ShortNumber(difference.estimate.mean),
         ShortNumber(difference.interval.low), ShortNumber(difference.interval.high),
         ShortNumber(comparison.corrected_p)});
  }
  return comparisons;
}

// A block of JSON inside HTML: without "<" nothing in it can end the block or begin another.
std::string EmbeddedJson(const Json& json) {
  return absl::StrReplaceAll(JsonText(json, -1), {{"<", "\\u003c"}});
}

std::string InlineHash(absl::string_view text) {
  const Sha256Digest digest = Sha256Of(text);
  return absl::StrCat("'sha256-",
                      absl::Base64Escape(absl::string_view(
                          reinterpret_cast<const char*>(digest.data()), digest.size())),
                      "'");
}

// Nothing is fetched, and of what is inline only the page's own script and style count.
std::string ContentPolicy() {
  return absl::StrCat("default-src 'none'; img-src data:; script-src ", InlineHash(kPageScript),
                      "; style-src ", InlineHash(kPageStyle));
}

std::string Counted(size_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(FormatCount(static_cast<int64_t>(count)), " ", count == 1 ? one : many);
}

std::string Summary(const ReportRequest& request) {
  std::string text = absl::StrCat(Counted(request.found->runs.size(), "record", "records"), ", ",
                                  Counted(request.board->tables.size(), "table", "tables"),
                                  ", made from records alone.");
  const size_t damaged = request.found->damaged.size();
  if (damaged > 0) {
    absl::StrAppend(&text, " ", Counted(damaged, "record", "records"), " could not be read and ",
                    damaged == 1 ? "is" : "are", " named below.");
  }
  return text;
}

std::string Section(absl::string_view id, absl::string_view title, const std::string& content) {
  if (content.empty()) return "";
  return absl::StrCat("<section id=\"", id, "\" aria-labelledby=\"", id, "-title\">\n<h2 id=\"", id,
                      "-title\">", EscapeHtml(title), "</h2>\n", content, "</section>\n");
}

// Every text of the board in which a path may stand.
Leaderboard WithShownNames(const Leaderboard& board, const ShownNames& names) {
  Leaderboard shown = board;
  for (std::string& reason : shown.left_out) reason = names.In(reason);
  for (LeaderboardTable& table : shown.tables) {
    for (std::string& note : table.notes) note = names.In(note);
  }
  return shown;
}

struct PageData {
  Json json;
  std::map<std::string, int> run_numbers;  // by folder
  std::string efficiency_html, ablation_html;
  // The request's, and files among the runs that cannot be read.
  std::vector<std::string> problems;
  std::vector<std::string> not_shown;  // files of runs
};

PageData CollectData(const ReportRequest& request, const ShownNames& names) {
  PageData data;
  data.problems = request.problems;
  RunCollection runs(request.board->options);
  for (const LocatedRecord& located : request.found->runs) {
    data.run_numbers.emplace(located.directory, static_cast<int>(data.run_numbers.size()));
    runs.Add(located.record, names.In(located.directory), LinkTo(located.directory, request.page),
             RunFilesJson(located.directory, &data.not_shown));
  }
  data.json = runs.ToJson();
  data.json["split"] = request.board->options.split;
  EfficiencyPart efficiency = ReadEfficiency(request.folders, &data.problems);
  data.json["efficiency"] = std::move(efficiency.panels);
  data.efficiency_html = std::move(efficiency.html);
  AblationPart ablations =
      MakeAblations({request.folders, request.suites, request.ablations}, &data.problems);
  data.json["ablations"] = std::move(ablations.designs);
  data.ablation_html = std::move(ablations.html);
  for (const LeaderboardTable& table : request.board->tables)
    data.json["comparisons"].push_back(ComparisonsJson(table));
  return data;
}

}  // namespace

std::string MakeReport(const ReportRequest& request) {
  const ShownNames names(request.folders);
  const PageData data = CollectData(request, names);
  const Leaderboard board = WithShownNames(*request.board, names);
  std::vector<std::string> left_out = board.left_out;
  for (const std::string& problem : data.problems) left_out.push_back(names.In(problem));
  std::vector<std::string> not_shown;
  for (const std::string& file : data.not_shown) not_shown.push_back(names.In(file));
  return absl::StrReplaceAll(
      kPageTemplate,
      {{"{{policy}}", ContentPolicy()},
       {"{{style}}", kPageStyle},
       {"{{summary}}", EscapeHtml(Summary(request))},
       {"{{progress}}", HtmlList(request.progress)},
       {"{{tables}}", HtmlTables(board, data.run_numbers)},
       {"{{ablations}}", Section("ablations", "Effects", data.ablation_html)},
       {"{{efficiency}}", Section("efficiency", "Efficiency", data.efficiency_html)},
       {"{{left_out}}", Section("left-out", "Not in a table", HtmlList(left_out))},
       {"{{not_shown}}", Section("not-shown", "Files of runs, not shown", HtmlList(not_shown))},
       {"{{legend}}", Section("legend", "How to read it", HtmlList(Legend(board)))},
       {"{{data}}", EmbeddedJson(data.json)},
       {"{{script}}", kPageScript}});
}

}  // namespace lra
