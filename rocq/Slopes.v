(* The derivatives that Derivatives.v computes are the real ones.

   An expression is differentiated in one entry of an input, or of a matrix that stands for a point, while all others stay.
   `varied` moves that entry along a line; `derivative_right` says that the value of an expression has along that line, at 0,
   the derivative that `derivative` writes.  It asks for what `differentiable` computes from syntax: that roots, logarithms,
   steps, reciprocals and inverses are taken where they have derivatives, which a condition says that the theorem prints. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus Tables.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* ---------------------------------------------------------------------------------------- sums and products of entries *)

Section Diff.
Variables (R : realType) (size_of : nat -> nat) (scalar : nat -> R) (moving : R -> nat -> seq nat -> R) (still : nat -> seq nat -> R).
Hypothesis at_start : forall k, moving 0 k =1 still k.
Variables (T : table) (by_ : nat) (at_ : seq index) (ats : seq nat) (s : nat -> seq index -> expr).

Lemma diff_real e r : valid size_of r -> map r at_ = ats -> bound_apart at_ e -> typed T by_ at_ e ->
  (forall k, k \in numbers e -> forall vs r, valid size_of r -> map r at_ = ats -> fits T by_ at_ k vs ->
    slope_at (fun t => moving t k (map r vs)) 0 (meaning size_of scalar still r (s k vs))) ->
  slope_at (fun t => meaning size_of scalar (moving t) r e) 0 (meaning size_of scalar still r (diff s e)).
Proof.
have start r' a : meaning size_of scalar (moving 0) r' a = meaning size_of scalar still r' a.
  by apply: meaning_entries => t _; exact: at_start.
have zero r' : meaning size_of scalar still r' (Int 0) = 0 by rewrite /meaning /= rational0.
elim: e r => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] r rV rA.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ _ _; rewrite zero; exact: slope_of_constant.
- by move=> _ Y H; apply: H; rewrite ?inE.
- case/andP => Ba Bb /andP[Ya Yb] H; apply: slope_add; [apply: IHa => // k kn|apply: IHb => // k kn];
  by apply: H; rewrite mem_cat kn ?orbT.
- case/andP => Ba Bb /andP[Ya Yb] H.
  have Ha : slope_at (fun t => meaning size_of scalar (moving t) r a) 0 (meaning size_of scalar still r (diff s a)).
    by apply: IHa => // k kn; apply: H; rewrite mem_cat kn.
  have Hb : slope_at (fun t => meaning size_of scalar (moving t) r b) 0 (meaning size_of scalar still r (diff s b)).
    by apply: IHb => // k kn; apply: H; rewrite mem_cat kn orbT.
  have A0 := start r a; have B0 := start r b; have := slope_mul Ha Hb; cbv beta; rewrite B0 A0; exact.
case/andP => va Ba Ya H; apply: slope_sum => x xn; apply: IHa => //; first exact: update_valid.
by rewrite -rA; apply/eq_in_map => w wat; rewrite update_other //; apply: contraNneq va => <-.
Qed.
End Diff.

Section Worlds.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variable arbitrary : nat -> seq nat -> (seq nat -> R) -> seq nat -> R.
Variables (T : table) (input : nat -> seq nat -> R).
Hypothesis T_formed : well_formed T.
Local Notation val entry r e := (meaning size_of scalar entry r e).
Local Notation ok := (valid size_of).
Local Notation bounds n := (lengths size_of (slots n)).

(* entries that are given, in place of what the input or the table says *)
Definition given_entries := nat -> option (seq nat -> R).
Fixpoint entries_at (T' : table) (over : given_entries) (j : nat) (xs : seq nat) : R := match T' with
  | [::] => if over j is Some X then X xs else input j xs
  | (k, n) :: T'' => if over j is Some X then X xs
    else if j == k then node_value size_of scalar arbitrary (entries_at T'' over) n xs else entries_at T'' over j xs end.
Local Notation world over := (entries_at T over).

Lemma entries_at_given T' over k X xs : over k = Some X -> entries_at T' over k xs = X xs.
Proof. by case: T' => [|[j n] T'] /= ->. Qed.
Lemma entries_at_none T' : entries_at T' (fun=> None) = entries_of size_of scalar arbitrary T' input.
Proof.
elim: T' => [|[k n] T' IH]; apply/funext => j; apply/funext => xs //=.
by rewrite IH.
Qed.
Lemma entries_at_input over k xs : find T k = None -> over k = None -> world over k xs = input k xs.
Proof. by elim: T => [|[j n] T' IH] /= F O; rewrite O //; move: F; rewrite eq_sym; case: ifP => // _ F; exact: IH. Qed.
Lemma entries_at_find over k n : find T k = Some n -> over k = None ->
  forall xs, world over k xs = node_value size_of scalar arbitrary (world over) n xs.
Proof.
move: T_formed; elim: T => [|[j m] T' IH] //= /and4P[cl fresh self wf].
have other t : t != j -> entries_at ((j, m) :: T') over t =1 entries_at T' over t.
  by move=> /negPf tj xs /=; rewrite tj; case E: (over t) => [X|] //; rewrite (entries_at_given _ _ E).
have same p xs : j \notin numbers (argument p) -> node_value size_of scalar arbitrary (entries_at T' over) p xs
    = node_value size_of scalar arbitrary (entries_at ((j, m) :: T') over) p xs.
  move=> jp; rewrite /node_value; congr apply; apply: cut_eq => ys _; apply: meaning_entries => t tp ys'.
  by rewrite other //; apply: contraNneq jp => <-.
case: eqP => [<- [<-] O xs|/eqP jk F O xs]; first by rewrite O eqxx same.
rewrite O eq_sym (negPf jk) (IH wf F O) same //.
elim: (T') F fresh {IH wf other same} => [|[i p] T'' IH] //=.
by case: eqP => [_ [<-] /andP[/andP[]]|_ Ek /andP[_ /(IH Ek)]].
Qed.
Lemma closed_find k n : find T k = Some n -> closed n.
Proof. by move/(find_value size_of scalar arbitrary input T_formed) => []. Qed.

(* the value of an argument along indices *)
Definition at_slots (entry : nat -> seq nat -> R) (n : node) (ys : seq nat) : R :=
  val entry (assigned (slots n) ys nowhere) (argument n).
Lemma at_slotsE entry n r : closed n -> at_slots entry n (map r (slots n)) = val entry r (argument n).
Proof. by move=> /andP[/allP cl un]; apply: meaning_free => w /cl wn; exact: assigned_in. Qed.
Lemma sizes_within n vs r : ok r -> sizes vs = sizes (slots n) -> within (bounds n) (map r vs).
Proof. by move=> rV E; rewrite -(lengths_sizes size_of E); exact: valid_within. Qed.

(* ------------------------------------------------------------------------------------------------ one entry moves *)
Variables (given : seq condition) (outer : seq nat).

(* nothing but the variables outside is given, and these are inputs or points *)
Definition within_scope (over : given_entries) := forall k, over k <> None -> k \in outer.
Definition condition_in (entry : nat -> seq nat -> R) (c : condition) : Prop := match c with
  | IsPositive k => if find T k is Some n then forall r, ok r -> 0 < val entry r (argument n) else True
  | IsNonzero k => if find T k is Some n then forall r, ok r -> val entry r (argument n) != 0 else True
  | IsInvertible k => if find T k is Some n then
      exists N, is_inverse (size (slots n))./2 (bounds n) (cut (bounds n) (at_slots entry n)) N else True end.
Lemma condition_in_input c : condition_in (world (fun=> None)) c = condition_holds size_of scalar arbitrary T input c.
Proof. by rewrite entries_at_none. Qed.

Variables (over : given_entries) (by_ : nat) (at_ : seq index) (ats : seq nat).
Hypothesis over_outer : within_scope over.
Hypothesis outer_variables : all (is_variable T) (by_ :: outer).
Hypothesis outer_free : all (fun k => (k == by_) || ~~ depends T by_ k) outer.
Hypothesis conditions_hold : forall c, List.In c given -> condition_in (world over) c.

Definition varied (t : R) : given_entries := fun j =>
  if j == by_ then Some (fun xs => world over by_ xs + t * (xs == ats)%:R) else over j.
Local Notation E t := (world (varied t)).
Local Notation en := (world over).

Lemma variedE t xs : E t by_ xs = en by_ xs + t * (xs == ats)%:R.
Proof. by rewrite (@entries_at_given _ _ _ (fun ys => en by_ ys + t * (ys == ats)%:R)) // /varied eqxx. Qed.
Lemma varied_scope t k : varied t k <> None -> k \in by_ :: outer.
Proof. by rewrite inE /varied; case: eqP => // _ /over_outer ->. Qed.
Lemma varied_other t k : k != by_ -> varied t k = over k. Proof. by rewrite /varied => /negPf ->. Qed.
Lemma E_given t k X xs : k != by_ -> over k = Some X -> E t k xs = en k xs.
Proof. by move=> kb O; rewrite !(@entries_at_given _ _ _ X) // varied_other. Qed.
Lemma E_input t k xs : k != by_ -> find T k = None -> E t k xs = en k xs.
Proof.
move=> kb F; case O: (over k) => [X|]; first exact: E_given O.
by rewrite !entries_at_input // varied_other.
Qed.
Lemma E_find t k n xs : k != by_ -> find T k = Some n -> over k = None ->
  E t k xs = node_value size_of scalar arbitrary (E t) n xs.
Proof. by move=> kb F O; apply: entries_at_find => //; rewrite varied_other. Qed.
Lemma node_value_eq entry entry' n xs : (forall k, k \in numbers (argument n) -> entry k =1 entry' k) ->
  node_value size_of scalar arbitrary entry n xs = node_value size_of scalar arbitrary entry' n xs.
Proof. by move=> H; rewrite /node_value; congr apply; apply: cut_eq => ys _; exact: meaning_entries. Qed.
Lemma E0 k : E 0 k =1 en k.
Proof.
elim/(table_ind T_formed): k => [k F|k n F IH] xs; have [->|/eqP kb] := k =P by_; try by rewrite variedE mul0r addr0.
  exact: E_input.
case O: (over k) => [X|]; first exact: E_given O.
by rewrite (E_find _ _ kb F O) (entries_at_find F O); exact: node_value_eq.
Qed.
(* what does not depend on the entry does not move *)
Lemma E_still t k : depends T by_ k = false -> E t k =1 en k.
Proof.
elim/(table_ind T_formed): k => [k F|k n F IH] D xs;
  have kb : k != by_ by apply/eqP => kE; move: D; rewrite kE; case: (T) => [|[? ?] ?] /=; rewrite eqxx.
  exact: E_input.
case O: (over k) => [X|]; first exact: E_given O.
rewrite (E_find _ _ kb F O) (entries_at_find F O); apply: node_value_eq => j jn; apply: IH => //.
by move: D; rewrite (depends_eq T_formed F kb) => /negbT/hasPn/(_ _ jn)/negPf.
Qed.

(* positive arguments are positive in every world in which the conditions hold *)
Lemma positive_entry_in k vs r : positive_entry T k -> ok r -> 0 < val en r (Entry k vs).
Proof.
have found T' : positive_entry T' k -> exists2 n, find T' k = Some n &
    match function n with Exp | Softmax _ => true | _ => false end.
  by elim: T' => [|[j n] T'' IH] //=; case: eqP => [_ h|_ /IH //]; exists n => //; case: (function n) h.
move=> /found [n F] h rV; have O : over k = None.
  case O: (over k) => [X|] //; have : k \in outer by apply: over_outer; rewrite O.
  case/andP: outer_variables => _ /allP V /V; rewrite /is_variable F.
  by case: (function n) h.
rewrite /meaning /= (entries_at_find F O) /node_value; case: (function n) h => // [|m] _; first exact: expR_gt0.
rewrite /= /softmax divr_gt0 ?expR_gt0 // total_positive //; last by move=> xs; exact: expR_gt0.
by rewrite lengths_drop (lengths_positive sizes_positive).
Qed.
Lemma has_in c : has given c -> condition_in en c.
Proof.
move=> h; suff: exists2 d, List.In d given & condition_eq c d.
  by case=> d /conditions_hold H; case: c d H {h} => k [] l // H /eqP ->.
elim: given h => [|d cs IH] //= /orP[E|/IH [d' I E]]; first by exists d; [left|].
by exists d'; [right|].
Qed.
Lemma positive_in k n r : positive T given k -> find T k = Some n -> ok r -> 0 < val en r (argument n).
Proof.
rewrite /positive => /orP[/has_in|]; first by rewrite /= => H F; move: H; rewrite F; exact.
move=> P F; rewrite F in P; move=> rV; apply: (positive_expr_gt0 sizes_positive scalars_positive) P rV => j vs r'.
exact: positive_entry_in.
Qed.
Lemma nonzero_in k n r : nonzero T given k -> find T k = Some n -> ok r -> val en r (argument n) != 0.
Proof.
rewrite /nonzero => /orP[/has_in|P F rV]; first by rewrite /= => H F; move: H; rewrite F; exact.
by rewrite gt_eqF // (positive_in P F rV).
Qed.

(* -------------------------------------------------------------------------------------------------- names of indices *)

Lemma below_above k vs : (forall v, v \in vs -> N.lt v.1 (above vs)) -> N.le (above vs) k -> forall v, v \in vs -> N.lt v.1 k.
Proof. by move=> H le v /H lt; apply: N.lt_le_trans le. Qed.
Lemma fixed_spaced k : spaced k (fixed k).
Proof. by move=> v; rewrite /fixed; case: N.ltb_spec0 => lt; [left | right]. Qed.
Lemma fixed_below k v : N.lt v.1 k -> fixed k v = v.
Proof. by rewrite /fixed => /N.ltb_lt ->. Qed.
Lemma fixed_size k v : (fixed k v).2 = v.2. Proof. by rewrite /fixed; case: ifP. Qed.
Lemma look_spaced bs ws k : (forall w, w \in ws -> N.lt w.1 k) -> spaced k (lookup bs ws (fixed k)).
Proof.
elim: bs ws => [|b bs IH] [|w ws] H v /=; try exact: fixed_spaced.
case: eqP => [_|_]; first by left; apply: H; rewrite inE eqxx.
by apply: IH => u uw; apply: H; rewrite inE uw orbT.
Qed.
Lemma look_valid bs ws k r : sizes bs = sizes ws -> ok r -> ok (r \o lookup bs ws (fixed k)).
Proof.
move=> SZ rV v; have -> : v.2 = (lookup bs ws (fixed k) v).2; last exact: rV.
elim: bs ws SZ => [|b bs IH] [|w ws] //=; rewrite ?fixed_size //.
by case=> bw SZ; case: eqP => [->|_] //; exact: IH.
Qed.
Lemma look_map bs ws k (r : environment) : uniq bs -> sizes bs = sizes ws ->
  map (r \o lookup bs ws (fixed k)) bs = map r ws.
Proof.
elim: bs ws => [|b bs IH] [|w ws] //= /andP[bn un] [_ SZ]; rewrite /comp eqxx; congr cons.
rewrite -(IH ws un SZ); apply/eq_in_map => v vb /=.
by case: eqP => // vE; rewrite -vE vb in bn.
Qed.
Lemma look_other bs ws k v : v \notin bs -> N.lt v.1 k -> lookup bs ws (fixed k) v = v.
Proof.
move=> + lt; elim: bs ws => [|b bs IH] [|w ws] //=; rewrite ?fixed_below //.
by rewrite inE negb_or => /andP[/negPf -> vb]; exact: IH.
Qed.
Lemma free_every e v : v \in free e -> v \in every_index e.
Proof.
elim: e => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] //=.
- by rewrite !mem_cat => /orP[/IHa ->|/IHb ->] //; rewrite orbT.
- by rewrite !mem_cat => /orP[/IHa ->|/IHb ->] //; rewrite orbT.
by rewrite mem_filter inE => /andP[_ /IHa ->]; rewrite orbT.
Qed.
Lemma place_fixed entry r k e : (forall v, v \in free e -> N.lt v.1 k) ->
  val entry r (place (fixed k) k e) = val entry r e.
Proof.
move=> H; rewrite /meaning place_value; last exact: fixed_spaced.
by apply: meaning_free => v /H lt /=; rewrite fixed_below.
Qed.
Lemma place_apart f k e : (forall v, v \in at_ -> N.lt v.1 k) -> bound_apart at_ (place f k e).
Proof.
move=> H; elim: e f => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] f //=; rewrite ?IHa ?IHb //= andbT.
by apply/negP => /H; rewrite /moved /=; lia.
Qed.
Lemma place_typed f k e : (forall v, (f v).2 = v.2) -> typed T by_ at_ (place f k e) = typed T by_ at_ e.
Proof.
elim: e f => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|w a IHa] f H //=; rewrite ?IHa ?IHb //.
  rewrite /fits size_map /sizes -map_comp; case: ifP => // _; case: (find T t) => // n; congr (_ == _).
  exact: eq_map.
by move=> v; rewrite /set1; case: eqP => [->|].
Qed.
Lemma fresh_from k vs : [/\ sizes (named_from k vs) = sizes vs, size (named_from k vs) = size vs, uniq (named_from k vs)
  & forall v, v \in named_from k vs -> N.le k v.1 /\ N.lt v.1 (N.add k (N.of_nat (size vs)))].
Proof.
elim: vs k => [|v vs IH] k; first by split.
rewrite -[named_from k (v :: vs)]/((k, v.2) :: named_from (N.succ k) vs) -[size (v :: vs)]/(size vs).+1 Nat2N.inj_succ.
have [a b c d] := IH (N.succ k); split.
- by rewrite -[LHS]/(v.2 :: sizes (named_from (N.succ k) vs)) a.
- by rewrite -[LHS]/(size (named_from (N.succ k) vs)).+1 b.
- by rewrite cons_uniq c andbT; apply/negP => /d [le _]; move: le; rewrite [fst _]/=; lia.
move=> w; rewrite inE => /orP[/eqP ->|/d [l1 l2]]; last by split; lia.
by rewrite -[(k, v.2).1]/k; split; lia.
Qed.

(* ------------------------------------------------------------------------------------- the derivative of an argument *)

Variable r0 : environment.
Hypotheses (r0_ok : ok r0) (r0_at : map r0 at_ = ats).
Local Notation slope_of_entry := (slope T by_ at_ T).
Local Notation tame k := (forall vs r, ok r -> map r at_ = ats -> fits T by_ at_ k vs ->
  slope_at (fun t => E t k (map r vs)) 0 (val en r (slope_of_entry k vs))).

Lemma diff_right e r : ok r -> map r at_ = ats -> bound_apart at_ e -> typed T by_ at_ e ->
  (forall k, k \in numbers e -> tame k) ->
  slope_at (fun t => val (E t) r e) 0 (val en r (diff slope_of_entry e)).
Proof. exact (@diff_real R size_of scalar (fun t => E t) en E0 T by_ at_ ats slope_of_entry e r). Qed.

Section Node.
Variables (k : nat) (n : node).
Hypotheses (F : find T k = Some n) (kb : k != by_).
Hypotheses (Y : typed T by_ at_ (argument n)) (apart_ : disjoint at_ (slots n)).
Hypothesis arguments_tame : forall t, t \in numbers (argument n) -> tame t.
Let C : closed n := closed_find F.
Let un : uniq (slots n). Proof. by case/andP: C. Qed.

Definition moves_by (ys : seq nat) : R := 'D_1 (fun t => at_slots (E t) n ys : R) (0 : R).
Lemma argument_tame vs r : ok r -> map r at_ = ats ->
  slope_at (fun t => val (E t) r (argument n)) 0 (val en r (argument_slope T by_ at_ n vs)).
Proof.
move=> rV rA; set m := base_name at_ n vs.
have lt v : v \in at_ ++ vs ++ slots n ++ every_index (argument n) -> N.lt v.1 m by exact: above_in.
apply: (slope_same (f := fun t => val (E t) r (place (fixed m) m (argument n)))) => [t|].
  apply: place_fixed => v vf; apply: lt; rewrite !mem_cat.
  by case/andP: C => /allP /(_ _ vf) ->; rewrite !orbT.
apply: diff_right => //.
- by apply: place_apart => v va; apply: lt; rewrite mem_cat va.
- by rewrite place_typed // => v; exact: fixed_size.
by move=> t; rewrite numbers_place; exact: arguments_tame.
Qed.
Lemma argument_moves vs r : ok r -> map r at_ = ats ->
  val en r (argument_slope T by_ at_ n vs) = moves_by (map r (slots n)).
Proof.
move=> rV rA; have H := argument_tame vs rV rA.
suff H' : slope_at (fun t => at_slots (E t) n (map r (slots n))) 0 (val en r (argument_slope T by_ at_ n vs)).
  exact (slope_value H').
apply: slope_same H => t; exact (esym (at_slotsE (E t) r C)).
Qed.
Lemma slots_move ys : within (bounds n) ys -> slope_at (fun t => at_slots (E t) n ys) 0 (moves_by ys).
Proof.
move=> wy; pose r := assigned (slots n) ys r0.
have rV : ok r by exact: assigned_valid.
have rA : map r at_ = ats.
  by rewrite -r0_at; apply/eq_in_map => v va; apply: assigned_notin; move/allP: apart_; exact.
have ry : map r (slots n) = ys by apply: assigned_map => //; rewrite (within_size wy) size_lengths.
have H := argument_tame [::] rV rA; have D := argument_moves [::] rV rA; rewrite ry in D; rewrite D in H.
by apply: slope_same H => t; rewrite -(at_slotsE (E t) r C) ry.
Qed.
Lemma relocated_value vs ws m r : ok r -> map r at_ = ats -> sizes ws = sizes (slots n) ->
  (forall v, v \in at_ -> N.lt v.1 m) -> (forall v, v \in ws -> N.lt v.1 m) ->
  val en r (relocated n ws m (argument_slope T by_ at_ n vs)) = moves_by (map r ws).
Proof.
move=> rV rA SZ am wm; rewrite /relocated /meaning place_value; last exact: look_spaced.
rewrite -/(meaning _ _ _ _ _) argument_moves ?look_map //; first exact: look_valid.
rewrite -rA; apply/eq_in_map => v va /=; rewrite look_other //; last exact: am.
by move/allP: apart_; exact.
Qed.
End Node.
End Worlds.
