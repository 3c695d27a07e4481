// tests/launch/reports/run_page_test.cpp: the data of the page of runs, and how they are put into it.
#include "launch/reports/run_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using nlohmann::json;

json step(int64_t number, double loss) {
  return {
      {"step", number}, {"loss", loss}, {"target_tokens", 100}, {"seconds", 36}, {"slowest_rank", number % 3 ? 1 : 0}};
}

std::function<void(const RecordVisitor&)> log_of(std::vector<json> log) {
  return [log = std::move(log)](const RecordVisitor& visit) {
    for (json record : log) visit(std::move(record));
  };
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find(end, at) - at);
}

json data_in(const std::string& page) {
  return json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

TEST(RunPage, HasTheCurvesByStepTokensAndHours) {
  const json run = run_page_data({{.name = "a", .log = log_of({step(1, 6), step(2, 5)})}}).at("runs").at(0);
  const json& steps = run.at("steps");
  EXPECT_EQ(steps.at("step"), json({1, 2}));
  EXPECT_EQ(steps.at("tokens"), json({100.0, 200.0}));
  EXPECT_EQ(steps.at("hours"), json({0.01, 0.02}));
  EXPECT_EQ(steps.at("loss"), json({6.0, 5.0}));
  EXPECT_EQ(steps.at("grad_norm"), json({nullptr, nullptr}));
  EXPECT_NEAR(steps.at("speed").at(0).get<double>(), 100.0 / 36, 1e-9);
}

TEST(RunPage, ThinsOutLongRunsToMeans) {
  std::vector<json> log;
  for (int i = 1; i <= 4001; ++i) log.push_back(step(i, i));
  const json steps = run_page_data({{.name = "a", .log = log_of(log)}}).at("runs").at(0).at("steps");
  ASSERT_EQ(steps.at("loss").size(), 1001u);
  EXPECT_EQ(steps.at("loss").at(0), 2.5) << "the mean of steps 1 to 4";
  EXPECT_EQ(steps.at("step").at(0), 4);
  EXPECT_EQ(steps.at("loss").back(), 4001);
  EXPECT_EQ(steps.at("tokens").back(), 400100.0);
}

TEST(RunPage, ShowsTextsOfTwoHundredValidationsWithBothEnds) {
  std::vector<json> log;
  for (int i = 1; i <= 1001; ++i)
    log.push_back({{"step", i}, {"valid_loss", 1}, {"samples", {{{"source", "s"}, {"hypothesis", "h"}}}}});
  const json validations = run_page_data({{.name = "a", .log = log_of(log)}}).at("runs").at(0).at("validations");
  ASSERT_EQ(validations.size(), 1001u);
  EXPECT_LE(std::ranges::count_if(validations, [](const json& v) { return !v.at("samples").empty(); }), 200);
  EXPECT_FALSE(validations.front().at("samples").empty());
  EXPECT_FALSE(validations.back().at("samples").empty());
}

TEST(RunPage, PlacesValidationsStartsAndRollbacks) {
  const json run =
      run_page_data({{.name = "a",
                      .log = log_of({{{"step", 0}, {"schema", 2}, {"dp", 2}, {"hosts", {"x", "y"}}, {"plan", "p"}},
                                     step(1, 6),
                                     {{"step", 1}, {"valid_loss", 5.5}, {"bleu", 30}},
                                     {{"step", 1}, {"rolled_back_to", 0}}})}})
          .at("runs")
          .at(0);
  EXPECT_EQ(run.at("starts").at(0).at("dp"), 2);
  EXPECT_EQ(run.at("plan"), "p");
  EXPECT_EQ(run.at("validations").at(0).at("tokens"), 100);
  EXPECT_EQ(run.at("validations").at(0).at("bleu"), 30);
  EXPECT_EQ(run.at("rollbacks").at(0).at("back_to"), 0);
  EXPECT_EQ(run.at("ranks").at(0).at("host"), "y");
}

TEST(RunPage, HasTheNumbersOfNamedSets) {
  const json run = run_page_data({{.name = "a",
                                   .log = log_of({step(1, 6),
                                                  {{"step", 1},
                                                   {"valid_loss", 5},
                                                   {"sets", {"dev", "news"}},
                                                   {"news.loss", 4},
                                                   {"news.bleu", 7},
                                                   {"news.bleu_signature", "tok:zh"}}})}})
                       .at("runs")
                       .at(0);
  const json& validation = run.at("validations").at(0);
  EXPECT_EQ(validation.at("sets"), json({"dev", "news"}));
  EXPECT_EQ(validation.at("news.loss"), 4);
  EXPECT_EQ(validation.at("news.bleu"), 7);
  EXPECT_EQ(validation.at("news.chrf"), nullptr);
  EXPECT_EQ(validation.at("news.bleu_signature"), "tok:zh");
}

TEST(RunPage, ListsTheRankThatWasSlowestMostOftenFirst) {
  const json ranks =
      run_page_data({{.name = "a", .log = log_of({step(1, 6), step(2, 6), step(3, 6)})}}).at("runs").at(0).at("ranks");
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks.at(0).at("rank"), 1);
  EXPECT_EQ(ranks.at(0).at("slowest"), 2);
}

TEST(RunPage, ListsWhatDiffersBetweenAllRuns) {
  const auto run = [](const char* name, const std::string& width, const std::string& seed) {
    return PageRun{
        .name = name,
        .config = "[model]\nwidth = " + width + "\nheads = 4\n[train]\nseed = " + seed + "\noutput = " + name + "\n",
        .log = log_of({step(1, 1)})};
  };
  const json data = run_page_data({run("a", "8", "1"), run("b", "8", "2"), run("c", "16", "1")});
  EXPECT_EQ(data.at("differences"), json::parse(R"([{"name":"model.width","values":["8","8","16"]},
                                                    {"name":"train.seed","values":["1","2","1"]}])"));
}

TEST(RunPage, ListsOptionsThatARunLacks) {
  const auto run = [](const std::string& config) {
    return PageRun{.name = "", .config = config, .log = log_of({step(1, 1)})};
  };
  const json data = run_page_data({run("[model]\nwidth = 8\n[train]\nseed = 1\n"), run(""),
                                   run("[model]\nwidth = 8\nbias = true\n[stage.a]\nsteps = 0\n[train]\nseed = 1\n")});
  EXPECT_EQ(data.at("differences"), json::parse(R"([{"name":"model.bias","values":[null,null,"true"]}])"));
}

TEST(RunPage, HasStagesAndTheLossesOfCorpora) {
  json first = step(1, 6), second = step(2, 5), third = step(3, 4);
  first["stage"] = "all", second["stage"] = third["stage"] = "tune";
  third["corpus_nll"] = {{"packed/a", 2.5}, {"other/a", nullptr}, {"b", 3}};
  const json data = run_page_data({{.name = "x", .log = log_of({first, second, third})}});
  const json& run = data.at("runs").at(0);
  ASSERT_EQ(run.at("stages").size(), 2u);
  EXPECT_EQ(run.at("stages").at(1).at("name"), "tune");
  EXPECT_EQ(run.at("stages").at(1).at("step"), 1) << "where the stage before ended";
  EXPECT_EQ(run.at("steps").at("corpora"),
            json({{"b", {nullptr, nullptr, 3.0}}, {"packed/a", {nullptr, nullptr, 2.5}}}));
  EXPECT_EQ(data.at("corpora"), json::parse(R"([{"folder":"b","name":"b"},{"folder":"packed/a","name":"a"}])"));
}

TEST(RunPage, EscapesTextThatLooksLikeMarkup) {
  const std::string evil = "</script><b>\"%SCRIPT%' & \\ \xe2\x80\xa8";
  const json validation = {
      {"step", 1}, {"valid_loss", 1}, {"samples", {{{"source", evil}, {"reference", "r"}, {"hypothesis", "h"}}}}};
  const std::string page = run_page({{.name = "<i>&", .config = evil, .log = log_of({validation})}});
  const json run = data_in(page).at("runs").at(0);
  EXPECT_EQ(run.at("validations").at(0).at("samples").at(0).at("source"), evil);
  EXPECT_EQ(run.at("config"), evil);
  EXPECT_EQ(between(page, "<title>", "</title>"), "&lt;i&gt;&amp;");
}

TEST(RunPage, NeedsNothingFromElsewhere) {
  const std::string page = run_page({{.name = "a", .log = log_of({step(1, 1)})}});
  for (const char* place : {"%TITLE%", "%STYLE%", "%SCRIPT%", "%DATA%", "src=", "<link", "@import", "url(http"})
    EXPECT_EQ(page.find(place), std::string::npos) << place;
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(RunPage, LeavesOutRecordsOfOtherShapes) {
  for (const char* field :
       {R"("samples":7)", R"("attention":[])", R"("attention":{"source":["a"],"target":["b"],"weights":[1]})",
        R"("attention":{"source":["a"],"target":["b"],"weights":[[1,2]]})"}) {
    const json record = json::parse(std::string(R"({"step":1,"valid_loss":"x",)") + field + "}");
    const json validation =
        run_page_data({{.name = "a", .log = log_of({record})}}).at("runs").at(0).at("validations").at(0);
    EXPECT_TRUE(validation.at("attention").is_null()) << field;
    EXPECT_TRUE(validation.at("valid_loss").is_null());
  }
}

}  // namespace
}  // namespace weft
